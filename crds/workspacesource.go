package crds

// Sources are the kinds of volume that the binding has, as their fields are called: one
// of a binding that is right.
func (b *WorkspaceBinding) Sources() []string {
	var named []string
	add := func(set bool, name string) {
		if set {
			named = append(named, name)
		}
	}
	add(b.VolumeClaimTemplate != nil, "volumeClaimTemplate")
	add(b.PersistentVolumeClaim != nil, "persistentVolumeClaim")
	add(b.EmptyDir != nil, "emptyDir")
	add(b.ConfigMap != nil, "configMap")
	add(b.Secret != nil, "secret")
	add(b.Projected != nil, "projected")
	add(b.CSI != nil, "csi")
	return named
}

// Path is where steps see the workspace, if nothing else is said at the step.
func (d *WorkspaceDeclaration) Path() string {
	if d.MountPath != "" {
		return d.MountPath
	}
	return PathWorkspaces + "/" + d.Name
}
