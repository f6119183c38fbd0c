/** Creates imported objects in a cluster. What cannot be created is noted, and the rest goes on. */
import type { Client } from '../../components/client/client.ts'
import { createDiscovery, type ServerResources } from '../../components/client/server-resources.ts'
import { keyOf, type KubeObject } from '../../components/machinery/objects/object.ts'
import {
  apiVersionOf,
  qualifiedName,
  type Resource,
} from '../../components/machinery/objects/resource.ts'
import { isStatusError, StatusError } from '../../components/machinery/objects/status-error.ts'
import { importSteps, type ImportedObject } from './import-order.ts'
import { definitions as definitionKind, kindName } from './kind-name.ts'
import { withOwners } from './owners.ts'

const atOnce = 16
const servedWithinMs = 10_000
const lookEveryMs = 50

export interface Unwritten {
  readonly kind: string
  readonly name: string
  readonly why: string
}

export interface Written {
  created: number
  /** Were there already; they were not changed. */
  existed: number
  readonly failed: Unwritten[]
}

interface Target {
  readonly client: Client
  readonly uids: Map<string, string>
  readonly result: Written
  readonly signal: AbortSignal
}

/** The target's own resource of that version. */
function servedAs({ all }: ServerResources, wanted: Resource): Resource | undefined {
  return all.find(
    (one) => one.plural === wanted.plural && apiVersionOf(one) === apiVersionOf(wanted),
  )
}

function ignoreStatus(error: unknown): undefined {
  if (!isStatusError(error)) throw error
}

async function createOne(
  { client, uids, result, signal }: Target,
  resource: Resource,
  { object, uid }: ImportedObject,
): Promise<void> {
  const { status, ...rest } = withOwners(object, (owner) => uids.get(owner))
  const verbs = client.resource(resource)
  try {
    const created = await verbs.create(rest as KubeObject, { signal })
    result.created += 1
    uids.set(uid, created.metadata.uid ?? '')
    const hasStatus = resource.subresources.some(({ name }) => name === 'status')
    if (status !== undefined && hasStatus)
      await verbs.updateStatus({ ...created, status }, { signal })
  } catch (error) {
    if (!(error instanceof StatusError)) throw error
    if (error.reason === 'AlreadyExists') {
      result.existed += 1
      const { namespace, name = '' } = object.metadata
      // One that has gone meanwhile owns nothing.
      const there = await verbs.get({ namespace, name }, { signal }).catch(ignoreStatus)
      if (there?.metadata.uid !== undefined) uids.set(uid, there.metadata.uid)
      return
    }
    result.failed.push({ kind: qualifiedName(resource), name: keyOf(object), why: error.message })
  }
}

interface Definition {
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

/** Waits until the definitions are served; one that is not in time fails where its objects are created. */
async function untilServed(target: Target, definitions: readonly ImportedObject[]): Promise<void> {
  const { client, signal } = target
  const isServed = async ({ resource, object }: ImportedObject): Promise<boolean> => {
    const { name = '' } = object.metadata
    const found = await client.resource(resource).get({ name }, { signal })
    const { conditions = [] } = (found as Definition).status ?? {}
    return conditions.some(({ type, status }) => type === 'Established' && status === 'True')
  }
  const untilMs = client.clock.now() + servedWithinMs
  let left = [...definitions]
  while (left.length > 0 && client.clock.now() < untilMs) {
    const served = await Promise.all(
      left.map(async (one) => await isServed(one).catch(() => false)),
    )
    left = left.filter((_, at) => served[at] !== true)
    if (left.length > 0) await client.clock.sleep(lookEveryMs, signal)
  }
}

/** Resolves with what became of the objects; rejects with a ConnectionError when the cluster does not answer. */
export async function writeObjects(
  client: Client,
  objects: readonly ImportedObject[],
  options: { readonly signal: AbortSignal; readonly onProgress: (objects: number) => void },
): Promise<Written> {
  const { signal, onProgress } = options
  const result: Written = { created: 0, existed: 0, failed: [] }
  const target: Target = { client, uids: new Map(), result, signal }
  const discover = createDiscovery(client)
  let resources = await discover(signal)
  for (const step of importSteps(objects)) {
    for (let start = 0; start < step.length; start += atOnce) {
      const batch = step.slice(start, start + atOnce)
      await Promise.all(
        batch.map(async (one) => {
          const resource = servedAs(resources, one.resource)
          if (resource !== undefined) return await createOne(target, resource, one)
          const { kind } = one.resource
          const why = `the cluster does not serve ${apiVersionOf(one.resource)} ${kind}`
          const name = keyOf(one.object)
          result.failed.push({ kind: qualifiedName(one.resource), name, why })
        }),
      )
      onProgress(result.created + result.existed + result.failed.length)
    }
    const definitions = step.filter(({ resource }) => kindName(resource) === definitionKind)
    if (definitions.length === 0) continue
    await untilServed(target, definitions)
    resources = await discover(signal)
  }
  return result
}
