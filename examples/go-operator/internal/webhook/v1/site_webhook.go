// Package v1 rejects Sites that cannot be served.
package v1

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	webv1 "example.com/go-operator/api/v1"
)

const mostReplicas = 10

// SetupSiteWebhookWithManager makes the manager serve the webhook.
func SetupSiteWebhookWithManager(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &webv1.Site{}).WithValidator(&SiteValidator{}).Complete()
}

// +kubebuilder:webhook:path=/validate-web-example-com-v1-site,mutating=false,failurePolicy=fail,sideEffects=None,groups=web.example.com,resources=sites,verbs=create;update,versions=v1,name=vsite-v1.kb.io,admissionReviewVersions=v1

// SiteValidator checks what a schema cannot say.
type SiteValidator struct{}

var _ admission.Validator[*webv1.Site] = &SiteValidator{}

// ValidateCreate checks a new Site.
func (*SiteValidator) ValidateCreate(_ context.Context, site *webv1.Site) (admission.Warnings, error) {
	return check(site)
}

// ValidateUpdate checks a changed one.
func (*SiteValidator) ValidateUpdate(_ context.Context, _, site *webv1.Site) (admission.Warnings, error) {
	return check(site)
}

// ValidateDelete allows every deletion.
func (*SiteValidator) ValidateDelete(context.Context, *webv1.Site) (admission.Warnings, error) {
	return nil, nil
}

func check(site *webv1.Site) (admission.Warnings, error) {
	var faults field.ErrorList
	spec := field.NewPath("spec")
	image := site.Spec.Image
	if !strings.Contains(image[strings.LastIndex(image, "/")+1:], ":") {
		faults = append(faults, field.Invalid(spec.Child("image"), image, "must have a tag"))
	}
	if replicas := site.Spec.Replicas; replicas != nil && *replicas > mostReplicas {
		faults = append(faults, field.Invalid(spec.Child("replicas"), *replicas, "must not be above 10"))
	}
	if len(faults) > 0 {
		kind := schema.GroupKind{Group: webv1.GroupVersion.Group, Kind: "Site"}
		return nil, apierrors.NewInvalid(kind, site.Name, faults)
	}
	if strings.HasSuffix(image, ":latest") {
		return admission.Warnings{"the tag latest does not say which version is served"}, nil
	}
	return nil, nil
}
