/** Made objects: what a lesson makes must not be there before, and is deleted afterwards. */
import type { ControlClient } from '../../cluster/control-client.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { ResourceClient } from '../../components/client/resource-client.ts'
import type { LessonPlace } from './lesson-place.ts'
import type { MadeObject } from './lesson.ts'

interface Found {
  readonly made: MadeObject
  readonly client: ResourceClient
  readonly key: { readonly name: string; readonly namespace?: string }
  readonly object: KubeObject
}

async function find(made: MadeObject, place: LessonPlace): Promise<Found | undefined> {
  const resource = await place.findResource(made)
  const client = place.client.resource(resource)
  const { name, namespace = 'default' } = made
  const key = resource.namespaced ? { name, namespace } : { name }
  try {
    return { made, client, key, object: await client.get(key) }
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined
    throw error
  }
}

/** Those that are there, as `Deployment default/web`. */
export async function presentObjects(
  makes: readonly MadeObject[],
  place: LessonPlace,
): Promise<string[]> {
  const found = await Promise.all(makes.map((made) => find(made, place)))
  return found
    .filter((one) => one !== undefined)
    .map(
      ({ made, key }) =>
        `${made.kind} ${key.namespace === undefined ? '' : `${key.namespace}/`}${key.name}`,
    )
}

/** Nodes that a supervisor runs. */
async function nodeProcesses(control: ControlClient | undefined): Promise<Set<string>> {
  if (control === undefined) return new Set()
  const { components } = await control.call('status', {})
  return new Set(components.filter((one) => one.program === 'node-agent').map(({ name }) => name))
}

/**
 * Deletes those that are there, without waiting for finalizers. Processes of nodes are removed with their Nodes; without a supervisor
 * they stay.
 */
export async function deleteMade(
  makes: readonly MadeObject[],
  { place, control }: { readonly place: LessonPlace; readonly control?: ControlClient | undefined },
): Promise<void> {
  const processes = await nodeProcesses(control)
  for (const made of makes) {
    const { kind, name } = made
    if (kind === 'Node' && processes.has(name)) await control?.call('remove-node', { name })
    const found = await find(made, place)
    if (found === undefined) continue
    const { client, key, object } = found
    try {
      if ((object.metadata.finalizers ?? []).length > 0) {
        await client.patch(key, { metadata: { finalizers: null } }, { type: 'merge' })
      }
      await client.delete(key)
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error // the end of its finalizers was its end
    }
  }
}
