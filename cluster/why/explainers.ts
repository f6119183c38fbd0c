/** The list of explainers, by where the kind is stored: versions of a kind share one. */
import type { Resource } from '../../components/machinery/objects/resource.ts'
import type { Explainer } from './explainer.ts'
import { anyObject } from './kinds/any-object.ts'
import { certificateSigningRequest } from './kinds/certificate-signing-request.ts'
import { cronJob } from './kinds/cron-job.ts'
import { daemonSet } from './kinds/daemon-set.ts'
import { deployment } from './kinds/deployment.ts'
import { flowSchema, priorityLevelConfiguration } from './kinds/flow-control.ts'
import { horizontalPodAutoscaler } from './kinds/horizontal-pod-autoscaler.ts'
import { ingress } from './kinds/ingress.ts'
import { job } from './kinds/job.ts'
import { limitRange } from './kinds/limit-range.ts'
import { node } from './kinds/node.ts'
import { persistentVolume } from './kinds/persistent-volume.ts'
import { persistentVolumeClaim } from './kinds/persistent-volume-claim.ts'
import { pod } from './kinds/pod.ts'
import { podDisruptionBudget } from './kinds/pod-disruption-budget.ts'
import { replicaSet, replicationController } from './kinds/replica-set.ts'
import { resourceQuota } from './kinds/resource-quota.ts'
import { service } from './kinds/service.ts'
import { statefulSet } from './kinds/stateful-set.ts'

const explainers: Readonly<Record<string, Explainer>> = {
  'apps/daemonsets': daemonSet,
  'apps/deployments': deployment,
  'apps/replicasets': replicaSet,
  'apps/statefulsets': statefulSet,
  'autoscaling/horizontalpodautoscalers': horizontalPodAutoscaler,
  'batch/cronjobs': cronJob,
  'batch/jobs': job,
  'certificates/certificatesigningrequests': certificateSigningRequest,
  'core/limitranges': limitRange,
  'core/nodes': node,
  'core/persistentvolumeclaims': persistentVolumeClaim,
  'core/persistentvolumes': persistentVolume,
  'core/pods': pod,
  'core/replicationcontrollers': replicationController,
  'core/resourcequotas': resourceQuota,
  'core/services': service,
  'flowcontrol/flowschemas': flowSchema,
  'flowcontrol/prioritylevelconfigurations': priorityLevelConfiguration,
  'networking/ingresses': ingress,
  'policy/poddisruptionbudgets': podDisruptionBudget,
}

/** Kinds without an explainer of their own are judged by their conditions. */
export function explainerOf({ storagePrefix }: Resource): Explainer {
  return explainers[storagePrefix] ?? anyObject
}
