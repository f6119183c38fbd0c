package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SiteSpec is what a user wants.
type SiteSpec struct {
	// Image that serves the site.
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`

	// Replicas is how many pods serve it.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
}

// SiteStatus is what there is.
type SiteStatus struct {
	// ReadyReplicas is how many pods serve the site now.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// Conditions of the site: Available.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Site is a web site that a Deployment serves.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`

	Spec   SiteSpec   `json:"spec"`
	Status SiteStatus `json:"status,omitzero"`
}

// SiteList is a list of Sites.
// +kubebuilder:object:root=true
type SiteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`
	Items           []Site `json:"items"`
}
