/** The explicit table: kind -> its strategy. A kind that is not here has none: metadata rules and schema are all. */
import { remembered } from '../../machinery/values/remembered.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { configMapStrategy } from '../kinds/core/config-map.ts'
import { cronJobStrategy } from '../kinds/batch/cron-job.ts'
import { deploymentStrategy } from '../kinds/apps/deployment.ts'
import { replicaSetStrategy } from '../kinds/apps/replica-set.ts'
import { jobStrategy } from '../kinds/batch/job.ts'
import { namespaceStrategy } from '../kinds/core/namespace.ts'
import { nodeStrategy } from '../kinds/core/node.ts'
import { endpointSliceStrategy } from '../kinds/discovery/endpoint-slice.ts'
import { endpointsStrategy } from '../kinds/core/endpoints.ts'
import { limitRangeStrategy } from '../kinds/core/limit-range.ts'
import { persistentVolumeStrategy } from '../kinds/core/persistent-volume.ts'
import { persistentVolumeClaimStrategy } from '../kinds/core/persistent-volume-claim.ts'
import { resourceQuotaStrategy } from '../kinds/core/resource-quota.ts'
import { podStrategy } from '../kinds/core/pod/pod-strategy.ts'
import { podTemplateStrategy } from '../kinds/core/pod-template.ts'
import { replicationControllerStrategy } from '../kinds/core/replication-controller.ts'
import { secretStrategy } from '../kinds/core/secret.ts'
import { serviceAccountStrategy } from '../kinds/core/service-account.ts'
import { serviceStrategy } from '../kinds/core/service.ts'
import { controllerRevisionStrategy } from '../kinds/apps/controller-revision.ts'
import { daemonSetStrategy } from '../kinds/apps/daemon-set.ts'
import { statefulSetStrategy } from '../kinds/apps/stateful-set.ts'
import { certificateSigningRequestStrategy } from '../kinds/certificates/certificate-signing-request.ts'
import { clusterRoleBindingStrategy, roleBindingStrategy } from '../kinds/rbac/role-bindings.ts'
import { clusterRoleStrategy, roleStrategy } from '../kinds/rbac/roles.ts'
import { leaseCandidateStrategy } from '../kinds/coordination/lease-candidate.ts'
import { leaseStrategy } from '../kinds/coordination/lease.ts'
import { eventStrategy } from '../kinds/core/event.ts'
import { podDisruptionBudgetStrategy } from '../kinds/policy/pod-disruption-budget.ts'
import { priorityClassStrategy } from '../kinds/scheduling/priority-class.ts'
import { ingressStrategy } from '../kinds/networking/ingress.ts'
import { ingressClassStrategy } from '../kinds/networking/ingress-class.ts'
import { networkPolicyStrategy } from '../kinds/networking/network-policy.ts'
import { ipAddressStrategy } from '../kinds/networking/ip-address.ts'
import { serviceCidrStrategy } from '../kinds/networking/service-cidr.ts'
import { storageClassStrategy } from '../kinds/storage/storage-class.ts'
import { volumeAttributesClassStrategy } from '../kinds/storage/volume-attributes-class.ts'
import { csiDriverStrategy } from '../kinds/storage/csi-driver.ts'
import { csiNodeStrategy } from '../kinds/storage/csi-node.ts'
import { csiStorageCapacityStrategy } from '../kinds/storage/csi-storage-capacity.ts'
import { volumeAttachmentStrategy } from '../kinds/storage/volume-attachment.ts'
import { runtimeClassStrategy } from '../kinds/node/runtime-class.ts'
import { horizontalPodAutoscalerStrategy } from '../kinds/autoscaling/horizontal-pod-autoscaler.ts'
import {
  mutatingWebhookConfigurationStrategy,
  validatingWebhookConfigurationStrategy,
} from '../kinds/admissionregistration/webhook-configuration.ts'
import {
  mutatingAdmissionPolicyBindingStrategy,
  validatingAdmissionPolicyBindingStrategy,
} from '../kinds/admissionregistration/admission-policy-binding.ts'
import { mutatingAdmissionPolicyStrategy } from '../kinds/admissionregistration/mutating-admission-policy.ts'
import { validatingAdmissionPolicyStrategy } from '../kinds/admissionregistration/validating-admission-policy.ts'
import { customResourceDefinitionStrategy } from '../custom-resources/custom-resource-definition.ts'
import { apiServiceStrategy } from '../kinds/apiregistration/api-service.ts'
import { flowSchemaStrategy } from '../kinds/flowcontrol/flow-schema.ts'
import { priorityLevelConfigurationStrategy } from '../kinds/flowcontrol/priority-level-configuration.ts'
import { clusterTrustBundleStrategy } from '../kinds/certificates/cluster-trust-bundle.ts'
import { storageVersionStrategy } from '../kinds/apiserverinternal/storage-version.ts'
import { storageVersionMigrationStrategy } from '../kinds/storagemigration/storage-version-migration.ts'
import { deviceClassStrategy } from '../kinds/resource/device-class.ts'
import {
  resourceClaimStrategy,
  resourceClaimTemplateStrategy,
} from '../kinds/resource/resource-claim.ts'
import { resourceSliceStrategy } from '../kinds/resource/resource-slice.ts'
import { customVersionOf } from '../custom-resources/custom-version.ts'
import type { Strategy } from '../kinds/strategy.ts'

/** By the package and kind of the stored form. */
const strategies: Readonly<Record<string, Strategy>> = {
  'core/v1.ConfigMap': configMapStrategy,
  'core/v1.Namespace': namespaceStrategy,
  'core/v1.Node': nodeStrategy,
  'discovery/v1.EndpointSlice': endpointSliceStrategy,
  'core/v1.Endpoints': endpointsStrategy,
  'core/v1.LimitRange': limitRangeStrategy,
  'core/v1.PersistentVolume': persistentVolumeStrategy,
  'core/v1.PersistentVolumeClaim': persistentVolumeClaimStrategy,
  'core/v1.ResourceQuota': resourceQuotaStrategy,
  'core/v1.Pod': podStrategy,
  'core/v1.PodTemplate': podTemplateStrategy,
  'core/v1.ReplicationController': replicationControllerStrategy,
  'core/v1.Secret': secretStrategy,
  'core/v1.Service': serviceStrategy,
  'core/v1.ServiceAccount': serviceAccountStrategy,
  'apps/v1.Deployment': deploymentStrategy,
  'apps/v1.ReplicaSet': replicaSetStrategy,
  'apps/v1.StatefulSet': statefulSetStrategy,
  'apps/v1.DaemonSet': daemonSetStrategy,
  'apps/v1.ControllerRevision': controllerRevisionStrategy,
  'batch/v1.Job': jobStrategy,
  'batch/v1.CronJob': cronJobStrategy,
  'certificates/v1.CertificateSigningRequest': certificateSigningRequestStrategy,
  'rbac/v1.Role': roleStrategy,
  'rbac/v1.ClusterRole': clusterRoleStrategy,
  'rbac/v1.RoleBinding': roleBindingStrategy,
  'rbac/v1.ClusterRoleBinding': clusterRoleBindingStrategy,
  'coordination/v1.Lease': leaseStrategy,
  'coordination/v1alpha2.LeaseCandidate': leaseCandidateStrategy,
  'core/v1.Event': eventStrategy,
  'policy/v1.PodDisruptionBudget': podDisruptionBudgetStrategy,
  'scheduling/v1.PriorityClass': priorityClassStrategy,
  'networking/v1.Ingress': ingressStrategy,
  'networking/v1.IngressClass': ingressClassStrategy,
  'networking/v1.NetworkPolicy': networkPolicyStrategy,
  'networking/v1beta1.ServiceCIDR': serviceCidrStrategy,
  'networking/v1beta1.IPAddress': ipAddressStrategy,
  'storage/v1.StorageClass': storageClassStrategy,
  'storage/v1beta1.VolumeAttributesClass': volumeAttributesClassStrategy,
  'storage/v1.CSIDriver': csiDriverStrategy,
  'storage/v1.CSINode': csiNodeStrategy,
  'storage/v1.CSIStorageCapacity': csiStorageCapacityStrategy,
  'storage/v1.VolumeAttachment': volumeAttachmentStrategy,
  'node/v1.RuntimeClass': runtimeClassStrategy,
  'autoscaling/v2.HorizontalPodAutoscaler': horizontalPodAutoscalerStrategy,
  'admissionregistration/v1.MutatingWebhookConfiguration': mutatingWebhookConfigurationStrategy,
  'admissionregistration/v1.ValidatingWebhookConfiguration': validatingWebhookConfigurationStrategy,
  'admissionregistration/v1.ValidatingAdmissionPolicy': validatingAdmissionPolicyStrategy,
  'admissionregistration/v1.ValidatingAdmissionPolicyBinding':
    validatingAdmissionPolicyBindingStrategy,
  'apiextensions/v1.CustomResourceDefinition': customResourceDefinitionStrategy,
  'apiregistration/v1.APIService': apiServiceStrategy,
  'flowcontrol/v1.FlowSchema': flowSchemaStrategy,
  'flowcontrol/v1.PriorityLevelConfiguration': priorityLevelConfigurationStrategy,
  'storagemigration/v1alpha1.StorageVersionMigration': storageVersionMigrationStrategy,
  'apiserverinternal/v1alpha1.StorageVersion': storageVersionStrategy,
  'certificates/v1alpha1.ClusterTrustBundle': clusterTrustBundleStrategy,
  'resource/v1beta1.DeviceClass': deviceClassStrategy,
  'resource/v1beta1.ResourceClaim': resourceClaimStrategy,
  'resource/v1beta1.ResourceClaimTemplate': resourceClaimTemplateStrategy,
  'resource/v1beta1.ResourceSlice': resourceSliceStrategy,
  'admissionregistration/v1alpha1.MutatingAdmissionPolicy': mutatingAdmissionPolicyStrategy,
  'admissionregistration/v1alpha1.MutatingAdmissionPolicyBinding':
    mutatingAdmissionPolicyBindingStrategy,
}

const none: Strategy = {}

export function strategyOf(resource: Resource): Strategy {
  return customVersionOf(resource)?.strategy ?? builtInStrategy(resource)
}

const builtInStrategy = remembered(
  ({ storageVersion, kind }: Resource) => strategies[`${storageVersion.package}.${kind}`] ?? none,
)
