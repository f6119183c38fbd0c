package controller

import (
	"os"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	webv1 "example.com/go-operator/api/v1"
)

const (
	timeout  = 20 * time.Second
	interval = 50 * time.Millisecond
)

var _ = Describe("Site", func() {
	var (
		namespace *corev1.Namespace
		site      *webv1.Site
		key       client.ObjectKey
	)

	BeforeEach(func() {
		namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "site-"}}
		Expect(k8sClient.Create(ctx, namespace)).To(Succeed())
		key = client.ObjectKey{Namespace: namespace.Name, Name: "blog"}
		site = &webv1.Site{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
			Spec:       webv1.SiteSpec{Image: "nginx:1.29", Replicas: ptr.To[int32](2)},
		}
		Expect(k8sClient.Create(ctx, site)).To(Succeed())
	})

	deployment := func(g Gomega) *appsv1.Deployment {
		found := &appsv1.Deployment{}
		g.Expect(k8sClient.Get(ctx, key, found)).To(Succeed())
		return found
	}
	directory := func(g Gomega) map[string]string {
		found := &corev1.ConfigMap{}
		g.Expect(k8sClient.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: DirectoryName}, found)).To(Succeed())
		return found.Data
	}

	It("gets a Deployment that it owns, and an entry in the directory", func() {
		Eventually(func(g Gomega) {
			found := deployment(g)
			g.Expect(*found.Spec.Replicas).To(Equal(int32(2)))
			g.Expect(found.Spec.Template.Spec.Containers[0].Image).To(Equal("nginx:1.29"))
			g.Expect(metav1.IsControlledBy(found, site)).To(BeTrue())
			g.Expect(directory(g)).To(HaveKeyWithValue("blog", "nginx:1.29"))
		}, timeout, interval).Should(Succeed())
	})

	It("follows changes, and undoes those of others to its Deployment", func() {
		Eventually(func(g Gomega) { deployment(g) }, timeout, interval).Should(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, key, site)).To(Succeed())
			site.Spec.Image = "nginx:1.30"
			g.Expect(k8sClient.Update(ctx, site)).To(Succeed())
		}, timeout, interval).Should(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(deployment(g).Spec.Template.Spec.Containers[0].Image).To(Equal("nginx:1.30"))
		}, timeout, interval).Should(Succeed())

		found := deployment(Default)
		patch := client.MergeFrom(found.DeepCopy())
		found.Spec.Replicas = ptr.To[int32](7)
		Expect(k8sClient.Patch(ctx, found, patch)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(*deployment(g).Spec.Replicas).To(Equal(int32(2)))
		}, timeout, interval).Should(Succeed())
	})

	It("leaves the directory before it is gone", func() {
		Eventually(func(g Gomega) { g.Expect(directory(g)).To(HaveKey("blog")) }, timeout, interval).Should(Succeed())
		Expect(k8sClient.Delete(ctx, site)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(apierrors.IsNotFound(k8sClient.Get(ctx, key, site))).To(BeTrue())
		}, timeout, interval).Should(Succeed())
		Expect(directory(Default)).NotTo(HaveKey("blog"))
	})

	It("becomes Available, and its Deployment goes with it", func() {
		if os.Getenv("TEST_CONTROLLERS") != "true" {
			Skip("needs the controllers of a whole cluster")
		}
		Eventually(func(g Gomega) {
			g.Expect(k8sClient.Get(ctx, key, site)).To(Succeed())
			g.Expect(site.Status.ReadyReplicas).To(Equal(int32(2)))
			g.Expect(meta.IsStatusConditionTrue(site.Status.Conditions, "Available")).To(BeTrue())
		}, timeout, interval).Should(Succeed())

		Expect(k8sClient.Delete(ctx, namespace)).To(Succeed())
		Eventually(func(g Gomega) {
			err := k8sClient.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
			g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
		}, 2*timeout, interval).Should(Succeed())
	})
})
