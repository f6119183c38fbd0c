/** Explains one object: reads it, what is related to it and its owners, and judges them. */
import { createDiscovery, type ServerResources } from '../../components/client/server-resources.ts'
import type { Client } from '../../components/client/client.ts'
import { messageOf } from '../../components/component-base/log.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { controllerOf } from '../../components/machinery/objects/object.ts'
import { apiVersionOf, type Resource } from '../../components/machinery/objects/resource.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import { ClusterError } from '../cluster-error.ts'
import { nameOf } from './evidence.ts'
import { explainerOf } from './explainers.ts'
import type { ObjectAnswer, ObjectName } from './finding.ts'
import { neededResource } from './named-resource.ts'
import { readRelated, type Source } from './read-related.ts'
import { deletedAt, terminatingFindings, terminatingNeeds } from './terminating.ts'

/** As far up as owners are followed. */
const mostOwners = 5

export interface AskedObject {
  /** As kubectl takes it: plural, singular, kind or short name, with `.group`. */
  readonly kind: string
  readonly name: string
  /** Not used for kinds without namespaces. */
  readonly namespace: string
}

/** Throws a ClusterError of kind `not-found` for an object that is not there. */
export async function readObject(
  client: Client,
  resource: Resource,
  asked: Pick<AskedObject, 'name' | 'namespace'>,
): Promise<KubeObject> {
  const { name, namespace } = asked
  const where = resource.namespaced ? ` in namespace ${namespace}` : ''
  try {
    const object = await client
      .resource(resource)
      .get(resource.namespaced ? { name, namespace } : { name })
    return { ...object, apiVersion: apiVersionOf(resource), kind: resource.kind }
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
    throw new ClusterError('not-found', `there is no ${resource.singular} "${name}"${where}`, {
      hint: `see: kubectl get ${resource.plural}${resource.namespaced ? ' -A' : ''}`,
      cause: error,
    })
  }
}

/** The owners up to the top, the nearest first: the controlling one, else the first. One that is gone ends the chain. */
async function readOwners(
  client: Client,
  { all }: ServerResources,
  object: KubeObject,
): Promise<{ owners: ObjectName[]; notRead: string[] }> {
  const owners: ObjectName[] = []
  let current = object
  for (let depth = 0; depth < mostOwners; depth += 1) {
    const owner = controllerOf(current) ?? current.metadata.ownerReferences?.[0]
    if (owner === undefined) break
    const { apiVersion, kind, name, uid } = owner
    const resource = all.find((one) => one.kind === kind && apiVersionOf(one) === apiVersion)
    const namespace = resource?.namespaced === true ? object.metadata.namespace : undefined
    owners.push({ apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) })
    if (resource === undefined) break
    try {
      current = await client.resource(resource).get({ namespace, name })
      if (current.metadata.uid !== uid) {
        return { owners, notRead: [`the owner ${kind} ${name}: another object has that name now`] }
      }
    } catch (error) {
      const why = isStatusError(error, 'NotFound') ? 'it does not exist' : messageOf(error)
      return { owners, notRead: [`the owner ${kind} ${name}: ${why}`] }
    }
  }
  return { owners, notRead: [] }
}

/** Rejects with a ClusterError for a kind that the server does not have (`usage`), and an object that is not there (`not-found`). */
export async function explainObject(source: Source, asked: AskedObject): Promise<ObjectAnswer> {
  const { client } = source
  const resources = await createDiscovery(client)()
  const resource = neededResource(resources, asked.kind, 'to explain a request, pass --as USER')
  const object = await readObject(client, resource, asked)
  const explainer = explainerOf(resource)
  const isEnding = object.metadata.deletionTimestamp !== undefined
  const needs = isEnding ? terminatingNeeds(object) : explainer.needs(object, client.dialect)
  const [{ related, notRead }, chain] = await Promise.all([
    readRelated(source, { object, needs }),
    readOwners(client, resources, object),
  ])
  const findings = isEnding
    ? terminatingFindings(object, related)
    : explainer.explain(object, related)
  const { uid } = object.metadata
  const { scheduler } = related
  return {
    object: { ...nameOf(object), ...(uid === undefined ? {} : { uid }) },
    isFine: findings.length === 0 && !isEnding,
    state: isEnding ? `Terminating since ${deletedAt(object)}` : explainer.state(object, related),
    findings,
    owners: chain.owners,
    ...(scheduler?.kind === 'answered' ? { scheduling: scheduler.explanation } : {}),
    notRead: [...notRead, ...chain.notRead],
  }
}
