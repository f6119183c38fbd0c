/** Writes what steps of Stages say, as another user where they say so. */
import type { Client } from '../client/client.ts'
import type { PatchType } from '../client/resource-client.ts'
import type { KubeObject } from '../machinery/objects/object.ts'
import type { Resource } from '../machinery/objects/resource.ts'
import { isStatusError } from '../machinery/objects/status-error.ts'
import type { FindKind } from './find-kind.ts'
import type { StageStep } from './stage.ts'

type Apply = Extract<StageStep, { kind: 'apply' }>

/** Who applied a field, as kwok names itself. */
const fieldManager = 'kwok'

export interface StageWriter {
  patch(
    object: KubeObject,
    body: unknown,
    options: {
      readonly type: PatchType
      readonly subresource?: string | undefined
      readonly user?: string | undefined
    },
  ): Promise<KubeObject>
  delete(object: KubeObject): Promise<void>
  /** Creates the object, or patches it if it is there; with a subresource it only patches. */
  apply(from: KubeObject, body: unknown, step: Apply): Promise<void>
}

function impersonating(user: string | undefined): { impersonate?: string } {
  return user === undefined ? {} : { impersonate: user }
}

/** Writes objects of one kind. */
export function createStageWriter(around: {
  readonly client: Client
  readonly resource: Resource
  readonly findKind: FindKind
  readonly signal: AbortSignal
}): StageWriter {
  const { client, resource, findKind, signal } = around
  const own = client.resource(resource)
  const refOf = ({ metadata }: KubeObject) => ({
    namespace: metadata.namespace,
    name: metadata.name ?? '',
  })
  const applied = async (from: KubeObject, body: unknown, step: Apply): Promise<void> => {
    const { apiVersion, kind } = step.target
    const made = body as KubeObject | null
    if (made?.apiVersion !== apiVersion || made.kind !== kind)
      throw new Error(`the template of apply must make one ${kind} of ${apiVersion}`)
    const target = await findKind(step.target)
    if (target === undefined) throw new Error(`the cluster serves no ${kind} of ${apiVersion}`)
    const { name, namespace = from.metadata.namespace } = made.metadata ?? {}
    if (name === undefined) throw new Error('the object that apply makes has no metadata.name')
    const place = target.namespaced && namespace !== undefined ? { namespace, name } : { name }
    const object = { ...made, metadata: { ...made.metadata, ...place } }
    const verbs = client.resource(target)
    const as = { signal, ...impersonating(step.user) }
    if (step.subresource === undefined) {
      try {
        await verbs.create(object, as)
        return
      } catch (error) {
        if (!isStatusError(error, 'AlreadyExists')) throw error
      }
    }
    await verbs.patch(place, object, {
      ...as,
      type: step.type,
      ...(step.subresource === undefined ? {} : { subresource: step.subresource }),
      ...(step.type === 'apply' ? { fieldManager, force: true } : {}),
    })
  }
  return {
    patch: (object, body, { type, subresource, user }) =>
      own.patch(refOf(object), body, {
        type,
        signal,
        ...(subresource === undefined ? {} : { subresource }),
        ...impersonating(user),
      }),
    delete: async (object) => {
      const { uid } = object.metadata
      await own.delete(refOf(object), {
        gracePeriodSeconds: 0,
        signal,
        ...(uid === undefined ? {} : { preconditions: { uid } }),
      })
    },
    apply: applied,
  }
}
