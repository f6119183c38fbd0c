// Package controller keeps what Sites ask for.
package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	webv1 "example.com/go-operator/api/v1"
)

const (
	// Finalizer holds a Site until it is out of the directory.
	Finalizer = "web.example.com/directory"
	// DirectoryName is the ConfigMap of a namespace that lists its Sites. It belongs to no Site, so that no garbage collector
	// can keep it.
	DirectoryName = "sites"
)

// SiteReconciler keeps a Deployment for each Site, and the directory of its namespace.
type SiteReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// +kubebuilder:rbac:groups=web.example.com,resources=sites,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=web.example.com,resources=sites/status,verbs=get;update
// +kubebuilder:rbac:groups=web.example.com,resources=sites/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;update

// Reconcile brings what there is closer to what the Site asks for.
func (r *SiteReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	site := &webv1.Site{}
	if err := r.Get(ctx, req.NamespacedName, site); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, site)
	}
	if controllerutil.AddFinalizer(site, Finalizer) {
		if err := r.Update(ctx, site); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.list(ctx, site); err != nil {
		return ctrl.Result{}, err
	}
	deployment, err := r.serve(ctx, site)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, r.report(ctx, site, deployment)
}

// finalize takes the Site out of the directory and lets it go.
func (r *SiteReconciler) finalize(ctx context.Context, site *webv1.Site) error {
	directory := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: site.Namespace, Name: DirectoryName}
	err := r.Get(ctx, key, directory)
	if err == nil {
		if _, listed := directory.Data[site.Name]; listed {
			delete(directory.Data, site.Name)
			err = r.Update(ctx, directory)
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if !controllerutil.RemoveFinalizer(site, Finalizer) {
		return nil
	}
	return client.IgnoreNotFound(r.Update(ctx, site))
}

// list puts the Site into the directory.
func (r *SiteReconciler) list(ctx context.Context, site *webv1.Site) error {
	directory := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: DirectoryName}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, directory, func() error {
		if directory.Data == nil {
			directory.Data = map[string]string{}
		}
		directory.Data[site.Name] = site.Spec.Image
		return nil
	})
	return err
}

// serve keeps the Deployment, and gives it as it is.
func (r *SiteReconciler) serve(ctx context.Context, site *webv1.Site) (*appsv1.Deployment, error) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		labels := map[string]string{"app.kubernetes.io/name": "site", "app.kubernetes.io/instance": site.Name}
		deployment.Spec.Replicas = ptr.To(ptr.Deref(site.Spec.Replicas, 1))
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		containers := deployment.Spec.Template.Spec.Containers
		if len(containers) != 1 {
			containers = []corev1.Container{{Name: "web"}}
		}
		containers[0].Image = site.Spec.Image
		deployment.Spec.Template.Spec.Containers = containers
		return controllerutil.SetControllerReference(site, deployment, r.Scheme)
	})
	return deployment, err
}

// report writes the status when it has changed.
func (r *SiteReconciler) report(ctx context.Context, site *webv1.Site, deployment *appsv1.Deployment) error {
	wanted, ready := ptr.Deref(site.Spec.Replicas, 1), deployment.Status.ReadyReplicas
	available := metav1.Condition{
		Type:               "Available",
		Status:             metav1.ConditionFalse,
		Reason:             "Starting",
		Message:            fmt.Sprintf("%d of %d pods are ready", ready, wanted),
		ObservedGeneration: site.Generation,
	}
	if ready >= wanted {
		available.Status, available.Reason = metav1.ConditionTrue, "Ready"
	}
	changed := meta.SetStatusCondition(&site.Status.Conditions, available)
	if !changed && site.Status.ReadyReplicas == ready {
		return nil
	}
	site.Status.ReadyReplicas = ready
	err := r.Status().Update(ctx, site)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// SetupWithManager makes the manager run the reconciler.
func (r *SiteReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).For(&webv1.Site{}).Owns(&appsv1.Deployment{}).Named("site").Complete(r)
}
