package v1

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	webv1 "example.com/go-operator/api/v1"
)

var _ = Describe("Site webhook", func() {
	site := func(image string, replicas int32) *webv1.Site {
		return &webv1.Site{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "site-", Namespace: "default"},
			Spec:       webv1.SiteSpec{Image: image, Replicas: ptr.To(replicas)},
		}
	}

	It("allows a sound Site", func() {
		Expect(k8sClient.Create(ctx, site("registry:5000/nginx:1.29", 10))).To(Succeed())
	})

	It("rejects an image without a tag, and too many replicas, both in one answer", func() {
		err := k8sClient.Create(ctx, site("registry:5000/nginx", 11))
		Expect(apierrors.IsInvalid(err)).To(BeTrue())
		Expect(err).To(MatchError(And(ContainSubstring("spec.image"), ContainSubstring("spec.replicas"))))
	})

	It("rejects a change to what it would not have allowed", func() {
		made := site("nginx:1.29", 1)
		Expect(k8sClient.Create(ctx, made)).To(Succeed())
		made.Spec.Replicas = ptr.To[int32](11)
		Expect(apierrors.IsInvalid(k8sClient.Update(ctx, made))).To(BeTrue())
	})
})
