package wire

import "strings"

// A shape is a message whose fields have names here. JSON brings the names of
// its fields along, protobuf only their numbers, so what is known of an object
// is what all objects of Kubernetes have in common: their metadata, and where
// built-in kinds keep their status. Numbers are for ever (that is the contract
// of protobuf); these are from meta/v1/generated.proto.
type shape uint8

const (
	opaque     shape = iota // nothing is known of it
	anObject                // an API object
	withStatus              // an API object whose kind has its status in field 3
	objectMeta
	ownerReference
	managedFieldsEntry
	timestamp
	rawFields // FieldsV1: its one field is JSON
	mapEntry  // a member of a map: what it is called is in it
	scalar    // a string or a number
)

// field is what is known of one field. Its name is empty where nothing is.
type field struct {
	name string
	kind kind
	of   shape
}

func text(name string) field               { return field{name, block, scalar} }
func number(name string) field             { return field{name, varint, scalar} }
func structure(name string, s shape) field { return field{name, block, s} }

// field is what this message has under that number.
func (s shape) field(n int32) field {
	switch s {
	case anObject, withStatus:
		return objectField(s, n)
	case objectMeta:
		return metaField(n)
	case ownerReference:
		return ownerField(n)
	case managedFieldsEntry:
		return managerField(n)
	case timestamp:
		return timeField(n)
	case rawFields:
		if n == 1 {
			return text("Raw")
		}
	default:
	}
	return field{}
}

const (
	metadataField = 1
	statusField   = 3
)

func objectField(s shape, n int32) field {
	switch {
	case n == metadataField:
		return structure("metadata", objectMeta)
	case n == statusField && s == withStatus:
		return structure("status", opaque)
	default:
		return field{}
	}
}

func metaField(n int32) field {
	switch n {
	case 1:
		return text("name")
	case 2:
		return text("generateName")
	case 3:
		return text("namespace")
	case 4:
		return text("selfLink")
	case 5:
		return text("uid")
	case 6:
		return text("resourceVersion")
	case 7:
		return number("generation")
	case 8:
		return structure("creationTimestamp", timestamp)
	case 9:
		return structure("deletionTimestamp", timestamp)
	case 10:
		return number("deletionGracePeriodSeconds")
	case 11:
		return structure("labels", mapEntry)
	case annotationsField:
		return structure("annotations", mapEntry)
	case 13:
		return structure("ownerReferences", ownerReference)
	case 14:
		return text("finalizers")
	case 17:
		return structure("managedFields", managedFieldsEntry)
	default:
		return field{}
	}
}

const annotationsField = 12

func ownerField(n int32) field {
	switch n {
	case 1:
		return text("kind")
	case 3:
		return text("name")
	case 4:
		return text("uid")
	case 5:
		return text("apiVersion")
	case 6:
		return number("controller")
	case 7:
		return number("blockOwnerDeletion")
	default:
		return field{}
	}
}

func managerField(n int32) field {
	switch n {
	case 1:
		return text("manager")
	case 2:
		return text("operation")
	case 3:
		return text("apiVersion")
	case 4:
		return structure("time", timestamp)
	case 6:
		return text("fieldsType")
	case 7:
		return structure("fieldsV1", rawFields)
	case 8:
		return text("subresource")
	default:
		return field{}
	}
}

func timeField(n int32) field {
	switch n {
	case 1:
		return number("seconds")
	case 2:
		return number("nanos")
	default:
		return field{}
	}
}

// names reports whether a path can be followed in messages of this shape, as
// far as it goes: that a field of that name is not there is an answer, that
// nobody here knows the names is none.
func (s shape) names(p Path) bool {
	for _, name := range p {
		switch s {
		case mapEntry, scalar, timestamp:
			return true // the keys of a map are in it, and nothing is within a string
		case opaque, rawFields:
			return false
		default:
		}
		found := s.named(name)
		if found.name == "" {
			return s != anObject && s != withStatus
		}
		s = found.of
	}
	return true
}

// named is the field of that name.
func (s shape) named(name string) field {
	const highest = 17
	for n := int32(1); n <= highest; n++ {
		if f := s.field(n); f.name == name {
			return f
		}
	}
	return field{}
}

// shapeOf is what is known of objects of a kind. Whether its status is in field
// 3 is known for the kinds of the built-in groups that have one (it is in field
// 3 for all of them; others have something else there: a Secret its type).
func shapeOf(apiVersion, kind []byte) shape {
	group, _, _ := strings.Cut(string(apiVersion), "/")
	if strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
		return anObject
	}
	switch string(kind) {
	case "CSINode", "CertificateSigningRequest", "CompositePodGroup", "CronJob", "DaemonSet", "Deployment",
		"DeviceTaintRule", "FlowSchema", "HorizontalPodAutoscaler", "Ingress", "Job", "Namespace", "Node",
		"PersistentVolume", "PersistentVolumeClaim", "Pod", "PodCertificateRequest", "PodDisruptionBudget",
		"PodGroup", "PriorityLevelConfiguration", "ReplicaSet", "ReplicationController", "ResourceClaim",
		"ResourceQuota", "Service", "ServiceCIDR", "StatefulSet", "StorageVersion", "StorageVersionMigration",
		"ValidatingAdmissionPolicy", "VolumeAttachment":
		return withStatus
	default:
		return anObject
	}
}

// holds reports whether there are fields in messages of this shape that a path
// may name.
func (s shape) holds() bool { return s == objectMeta || s == ownerReference || s == managedFieldsEntry }
