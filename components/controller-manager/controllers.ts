/** The explicit list of all controllers, in the order they start. */
import { attachDetach } from './attach-detach/attach-detach.ts'
import { bootstrapSigner } from './bootstrap-tokens/bootstrap-signer.ts'
import { tokenCleaner } from './bootstrap-tokens/token-cleaner.ts'
import { csrApproving } from './certificates/csr-approving.ts'
import { csrCleaner } from './certificates/csr-cleaner.ts'
import { csrSigning } from './certificates/csr-signing.ts'
import { selinuxWarning } from './selinux-warning/selinux-warning.ts'
import { servingTrustBundle } from './certificates/serving-trust-bundle.ts'
import { clusterRoleAggregation } from './cluster-role-aggregation.ts'
import type { ControllerEntry } from './controller-context.ts'
import { daemonSetController } from './daemon-set/daemon-set.ts'
import { cronJobController } from './cron-job/cron-job.ts'
import { deploymentController } from './deployment/deployment.ts'
import { disruptionController } from './disruption/disruption.ts'
import { ephemeralVolumes } from './ephemeral-volumes.ts'
import { endpointSliceController } from './endpoints/endpoint-slices.ts'
import { endpointsController } from './endpoints/endpoints.ts'
import { endpointSliceMirroringController } from './endpoints/slice-mirroring.ts'
import { garbageCollector } from './garbage-collector/garbage-collector.ts'
import { horizontalPodAutoscalerController } from './horizontal-pod-autoscaler/horizontal-pod-autoscaler.ts'
import { jobController } from './job/job.ts'
import { namespaceController } from './namespace/namespace.ts'
import { nodeIpamController } from './node-ipam/node-ipam.ts'
import { nodeLifecycleController } from './node-lifecycle/node-lifecycle.ts'
import { persistentVolumeBinder } from './persistent-volumes/binder.ts'
import { podGarbageCollector } from './pod-gc.ts'
import { replicaSetController, replicationController } from './replica-set/replica-set.ts'
import { resourceClaimController } from './resource-claims/resource-claims.ts'
import { resourceQuotaController } from './resource-quota/resource-quota.ts'
import { rootCaPublisher } from './root-ca-publisher.ts'
import { defaultServiceAccount } from './service-accounts/default-service-account.ts'
import { legacyTokenCleaner } from './service-accounts/legacy-token-cleaner.ts'
import { serviceAccountTokens } from './service-accounts/token-secrets.ts'
import { storageVersionGarbageCollector } from './storage-version-gc/storage-version-gc.ts'
import { storageVersionMigrator } from './storage-version-migrator/storage-version-migrator.ts'
import { simulatedProvisionerController } from './simulated-storage/simulated-provisioner.ts'
import { statefulSetController } from './stateful-set/stateful-set.ts'
import { taintEvictionController } from './taint-eviction/taint-eviction.ts'
import { volumeExpander } from './volume-expander.ts'
import { attributesClassProtection } from './volume-protection/attributes-class-protection.ts'
import { claimProtection } from './volume-protection/claim-protection.ts'
import { volumeProtection } from './volume-protection/volume-protection.ts'
import { ttlAfterFinishedController } from './ttl-after-finished/ttl-after-finished.ts'
import { serviceCidrController } from './service-cidr/service-cidr.ts'
import { serviceLoadBalancerController } from './service-lb/service-lb.ts'
import { ttlController } from './ttl.ts'

/** Those that others wait for come first: without its accounts no controller has an identity of its own. */
export const controllers: readonly ControllerEntry[] = [
  serviceAccountTokens,
  defaultServiceAccount,
  legacyTokenCleaner,
  rootCaPublisher,
  csrApproving,
  csrSigning,
  csrCleaner,
  servingTrustBundle,
  clusterRoleAggregation,
  nodeIpamController,
  ttlController,
  nodeLifecycleController,
  taintEvictionController,
  podGarbageCollector,
  replicaSetController,
  replicationController,
  deploymentController,
  statefulSetController,
  daemonSetController,
  jobController,
  cronJobController,
  ttlAfterFinishedController,
  disruptionController,
  horizontalPodAutoscalerController,
  endpointSliceController,
  endpointsController,
  endpointSliceMirroringController,
  persistentVolumeBinder,
  simulatedProvisionerController,
  volumeExpander,
  claimProtection,
  volumeProtection,
  attributesClassProtection,
  selinuxWarning,
  ephemeralVolumes,
  attachDetach,
  resourceClaimController,
  resourceQuotaController,
  serviceLoadBalancerController,
  serviceCidrController,
  storageVersionGarbageCollector,
  storageVersionMigrator,
  namespaceController,
  garbageCollector,
  bootstrapSigner,
  tokenCleaner,
]
