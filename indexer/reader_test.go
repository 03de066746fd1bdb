package indexer_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/indexer"
	"millrace/wire"
)

func TestAReaderGivesPrivateCopies(t *testing.T) {
	x := with(t, obj(t, "a", "u1", "1", "app=web"))
	pods := indexer.Read[*corev1.Pod](x)
	p, ok, err := pods.Get(key("a"))
	if err != nil || !ok || p.Labels["app"] != "web" {
		t.Fatalf("%v, %v, %v", p, ok, err)
	}
	p.Labels["app"] = "changed"
	again, _, _ := pods.Get(key("a"))
	if again.Labels["app"] != "web" {
		t.Error("a change to what was read has reached the store")
	}
	if n := x.Stats().Decodes; n != 2 {
		t.Errorf("%d decodes", n)
	}
}

func TestWhatIsNotThereIsNoErrorAndCostsNoDecode(t *testing.T) {
	x := with(t)
	p, ok, err := indexer.Read[*corev1.Pod](x).Get(key("a"))
	if p != nil || ok || err != nil || x.Stats().Decodes != 0 {
		t.Errorf("%v, %v, %v", p, ok, err)
	}
}

func TestAReaderListsInOrder(t *testing.T) {
	x := with(t, obj(t, "b", "u2", "1", "app=web", "^o1"), obj(t, "a", "u1", "1", "app=web"), scan(t, `{"metadata":{"namespace":"m","name":"c"}}`))
	list, err := indexer.Read[metav1.PartialObjectMetadata](x).List("n")
	if err != nil || len(list) != 2 || list[0].Name != "a" || list[1].Name != "b" {
		t.Errorf("%v, %v", list, err)
	}
	list, err = indexer.Read[metav1.PartialObjectMetadata](x).List("")
	if err != nil || len(list) != 3 || list[0].Name != "c" {
		t.Errorf("%v, %v", list, err)
	}
	apps := indexer.AddIndex(x, "app", indexer.Label("app"))
	pods, err := indexer.ReadIndex[corev1.Pod](apps, "web")
	if err != nil || len(pods) != 2 || pods[0].Name != "a" || pods[1].Name != "b" {
		t.Errorf("%v, %v", pods, err)
	}
}

func TestAnObjectThatDoesNotFitIsItsOwnErrorOnly(t *testing.T) {
	bad := scan(t, `{"metadata":{"namespace":"n","name":"bad"},"spec":{"nodeName":7}}`)
	x := with(t, obj(t, "a", "u1", "1"), bad, obj(t, "c", "u3", "1"))
	pods := indexer.Read[corev1.Pod](x)
	var decode *wire.DecodeError
	if _, ok, err := pods.Get(bad.Key()); !ok || !errors.As(err, &decode) || decode.Key != bad.Key() {
		t.Errorf("get: %v, %v", ok, err)
	}
	list, err := pods.List("n")
	if len(list) != 2 || !errors.As(err, &decode) || decode.Key != bad.Key() {
		t.Errorf("list: %d, %v", len(list), err)
	}
}
