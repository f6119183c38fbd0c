/** Applying manifests: by server-side apply, in the order that their kinds need. Every object that fails is listed. */
import { ConnectionError } from '../components/client/connection-error.ts'
import { messageOf } from '../components/component-base/log.ts'
import { isStatusError } from '../components/machinery/objects/status-error.ts'
import { describeObject } from '../scenarios/engine/find-resource.ts'
import type { Connection } from './connection.ts'
import { expectObjects } from './expect.ts'
import { ExpectationError } from './expectation-error.ts'
import { definitionRank, installRank } from './install-order.ts'
import { ManifestError } from './manifest-error.ts'
import type { ManifestFault } from './manifest-error.ts'
import type { Manifest } from './manifests.ts'
import { objectClientOver } from './object-client.ts'
import type { KubernetesObject, ObjectClient } from './types.ts'

const establishedWithin = '30s'
/** Controllers make a new namespace's service account. */
const accountWithin = '5s'

interface Application {
  readonly connection: Connection
  readonly api: ObjectClient
  readonly signal: AbortSignal
}

/**
 * Applies the objects and resolves with what the server stored, in the order given. Fields that others own are taken over.
 * Rejects with a ManifestError that lists all objects that failed, once the others are applied; with a ConnectionError when the server
 * is lost, and with `signal.reason` when aborted.
 */
export async function applyManifests(
  manifests: readonly Manifest[],
  connection: Connection,
  signal: AbortSignal = new AbortController().signal,
): Promise<KubernetesObject[]> {
  const application = { connection, api: objectClientOver(connection), signal }
  const stored = new Map<Manifest, KubernetesObject>()
  const faults: ManifestFault[] = []
  const rankOf = installRank(connection.client.dialect)
  const ranks = Map.groupBy(manifests, ({ object }) => rankOf(object))
  // One after the other: the same manifests get the same resourceVersions each time.
  for (const rank of [...ranks.keys()].toSorted((a, b) => a - b)) {
    const group = ranks.get(rank) ?? []
    for (const manifest of group) {
      const result = await attempt(manifest, signal, () => applyOne(manifest, application))
      if ('fault' in result) faults.push(result.fault)
      else stored.set(manifest, result.value)
    }
    if (rank === definitionRank) {
      const applied = group.filter((manifest) => stored.has(manifest))
      faults.push(...(await waitUntilServed(applied, application)))
    }
  }
  if (faults.length === 0) return manifests.flatMap((manifest) => stored.get(manifest) ?? [])
  const summary = `${faults.length} of ${manifests.length} objects failed`
  throw new ManifestError(summary, inOrder(faults, manifests))
}

/** What fails is a value, so that the rest goes on; not when the server is lost or the caller gives up. */
async function attempt<T>(
  { object, place }: Manifest,
  signal: AbortSignal,
  run: () => Promise<T>,
): Promise<{ readonly value: T } | { readonly fault: ManifestFault }> {
  signal.throwIfAborted()
  try {
    return { value: await run() }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ConnectionError) throw error
    const isLate = error instanceof ExpectationError
    const message = isLate ? `is not established: ${error.there.join('; ')}` : messageOf(error)
    return { fault: { place, object: describeObject(object), message, cause: error } }
  }
}

function inOrder(
  faults: readonly ManifestFault[],
  manifests: readonly Manifest[],
): readonly ManifestFault[] {
  const places = new Map(manifests.map(({ place }, index) => [place, index]))
  return faults.toSorted((a, b) => (places.get(a.place) ?? 0) - (places.get(b.place) ?? 0))
}

async function applyOne({ object }: Manifest, application: Application): Promise<KubernetesObject> {
  const { api, signal } = application
  const apply = (): Promise<KubernetesObject> => api.apply(object, { force: true, signal })
  try {
    return await apply()
  } catch (error) {
    // A pod of a namespace that is new: admission denies it as long as its service account is not made.
    if (object.kind !== 'Pod' || !isStatusError(error, 'Forbidden')) throw error
    if (!(await hasAppeared(object, application))) throw error
    return await apply()
  }
}

/** Waits for a pod's service account; false when it was there before, or does not come. */
async function hasAppeared(
  pod: KubernetesObject,
  { api, connection, signal }: Application,
): Promise<boolean> {
  const { serviceAccountName: name = 'default' } = (pod['spec'] ?? {}) as {
    serviceAccountName?: string
  }
  const namespace = pod.metadata?.namespace ?? connection.namespace
  const account = { kind: 'ServiceAccount', apiVersion: 'v1', name, namespace }
  try {
    await api.get(account, { signal })
    return false
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
  }
  try {
    await expectObjects({ ...account, within: accountWithin, signal }, connection)
    return true
  } catch (error) {
    if (error instanceof ExpectationError) return false
    throw error
  }
}

/** Resolves when the kinds of all these definitions are served, with a fault for each that is not. */
async function waitUntilServed(
  definitions: readonly Manifest[],
  { connection, signal }: Application,
): Promise<ManifestFault[]> {
  const waits = definitions.map((definition) =>
    attempt(definition, signal, () => waitUntilEstablished(definition, { connection, signal })),
  )
  return (await Promise.all(waits)).flatMap((result) => ('fault' in result ? [result.fault] : []))
}

/** The API server first decides on the names, which may belong to another definition. */
async function waitUntilEstablished(
  { object: { kind, apiVersion, metadata } }: Manifest,
  { connection, signal }: Omit<Application, 'api'>,
): Promise<void> {
  const wait = (where: string): Promise<KubernetesObject[]> =>
    expectObjects(
      { kind, apiVersion, name: metadata?.name, where, within: establishedWithin, signal },
      connection,
    )
  const [decided] = await wait('status.conditions[type=NamesAccepted].status exists')
  const conditions = (decided?.['status']?.conditions ?? []) as readonly Condition[]
  const names = conditions.find(({ type }) => type === 'NamesAccepted')
  if (names?.status === 'False') throw new Error(`is not established: ${names.message ?? ''}`)
  await wait('status.conditions[type=Established].status == True')
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly message?: string
}
