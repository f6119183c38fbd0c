/** Creates and deletes the pods of a workload, and records events about it (upstream: controller_utils.go RealPodControl). */
import type { Pod, PodTemplateSpec } from '../../api/generated/types.ts'
import type { EventRecorder } from '../../client/event-recorder.ts'
import type { ResourceClient } from '../../client/resource-client.ts'
import { messageOf } from '../../component-base/log.ts'
import { copyJson } from '../../machinery/values/json-copy.ts'
import { objectNamePrefix } from '../../machinery/validation/names.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Resource } from '../../machinery/objects/resource.ts'
import { isStatusError, StatusError } from '../../machinery/objects/status-error.ts'
import { controllerReference } from '../claim.ts'

/** The pod a template asks for, owned by `owner`; its name begins with `generateName`, or the owner's name. Pure. */
export function podFromTemplate(
  template: PodTemplateSpec | undefined,
  owner: KubeObject,
  resource: Resource,
  generateName?: string,
): Pod {
  const { namespace = '', name = '' } = owner.metadata
  const { labels, annotations, finalizers } = template?.metadata ?? {}
  const prefix = objectNamePrefix(`${name}-`, 'subdomain').length === 0 ? `${name}-` : name
  return copyJson<Pod>({
    metadata: {
      generateName: generateName ?? prefix,
      namespace,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ownerReferences: [controllerReference(owner, resource)],
    },
    ...(template?.spec === undefined ? {} : { spec: template.spec }),
  })
}

/** The server refuses everything new there; trying again is no use. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    error instanceof StatusError &&
    (error.details?.causes ?? []).some(({ reason }) => reason === 'NamespaceTerminating')
  )
}

export interface PodControl {
  /** Creates one pod, by default named after its owner; throws what the server says. */
  create(
    owner: KubeObject,
    template: PodTemplateSpec | undefined,
    generateName?: string,
  ): Promise<Pod>
  /** Deletes one pod. A pod that is gone already is no error. */
  delete(owner: KubeObject, pod: Pod): Promise<void>
}

export function createPodControl(options: {
  readonly pods: ResourceClient<Pod>
  readonly recorder: EventRecorder
  /** Of the owners. */
  readonly resource: Resource
}): PodControl {
  const { pods, recorder, resource } = options
  const fail = (owner: KubeObject, reason: string, message: string): void =>
    recorder.record(owner, { type: 'Warning', reason, message })
  return {
    create: async (owner, template, generateName) => {
      let pod: Pod
      try {
        pod = await pods.create(podFromTemplate(template, owner, resource, generateName))
      } catch (error) {
        if (!isNamespaceTerminating(error))
          fail(owner, 'FailedCreate', `Error creating: ${messageOf(error)}`)
        throw error
      }
      const message = `Created pod: ${pod.metadata.name}`
      recorder.record(owner, { type: 'Normal', reason: 'SuccessfulCreate', message })
      return pod
    },
    delete: async (owner, pod) => {
      const { namespace, name = '', uid = '' } = pod.metadata
      try {
        await pods.delete({ namespace, name }, { preconditions: { uid } })
      } catch (error) {
        if (isStatusError(error, 'NotFound')) return
        fail(owner, 'FailedDelete', `Error deleting: ${messageOf(error)}`)
        throw error
      }
      const message = `Deleted pod: ${name}`
      recorder.record(owner, { type: 'Normal', reason: 'SuccessfulDelete', message })
    },
  }
}
