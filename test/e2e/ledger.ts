/** Ledger: what a server has acknowledged to writers of config maps, kept so that any later state can be held against it. */
import type { Client } from '../../components/client/client.ts'
import { ConnectionError } from '../../components/client/connection-error.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { isStatusError, StatusError } from '../../components/machinery/objects/status-error.ts'

export const namespace = 'default'

/** The content of one version of an object; undefined: there is none. */
type Version = { readonly uid: string; readonly value: string } | undefined

/** A write that got no answer and was not seen to take effect: the server that received it may still commit it. */
interface OpenWrite {
  /** Whether an object in this state is what the write makes of it. */
  readonly wanted: (found: Version) => boolean
  /** After so many deaths of the server the one that received it is dead. */
  readonly overAfter: number
  readonly cause: unknown
}

export interface Ledger {
  /** Creates, changes and deletes objects of its own until the signal aborts; rejects when the server contradicts itself. */
  write(client: Client, prefix: string, stop: AbortSignal): Promise<void>
  /** Adds one to a counter that all writers share, by compare and swap. */
  increment(client: Client): Promise<void>
  /** What is wrong with these objects, the newest the server has; empty when every acknowledged write is there. */
  contradictions(objects: readonly KubeObject[]): string[]
  /** Hears that the process of the server has died, after each kill. */
  serverDied(): void
  /** Hears every resourceVersion that anybody was shown. */
  sawVersion(resourceVersion: string | undefined): void
  /** resourceVersion of each acknowledged create and update. */
  readonly acknowledgedVersions: ReadonlySet<number>
  readonly counts: { acknowledged: number; unknown: number; deleted: number }
}

/** No answer, or one that says nothing about the write's fate. */
function isUncertain(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.code !== 'untrusted'
  return error instanceof StatusError && (error.code >= 500 || error.code === 429)
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 10))

/** Reads must succeed at some time; a server that is away is asked again. */
async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!isUncertain(error)) throw error
    }
    await pause()
  }
}

const valueOf = (object: KubeObject): string =>
  (object['data'] as { value?: string } | undefined)?.value ?? ''
const versionOf = (object: KubeObject): Version => ({
  uid: object.metadata.uid ?? '',
  value: valueOf(object),
})
const text = (version: Version): string =>
  version === undefined ? 'nothing' : `${version.value} of ${version.uid}`
const same = (a: Version, b: Version): boolean => text(a) === text(b)

export function createLedger(): Ledger {
  const settled = new Map<string, Version>()
  const open = new Map<string, OpenWrite>()
  const deadUids = new Set<string>()
  const versions = new Set<number>()
  const counts = { acknowledged: 0, unknown: 0, deleted: 0 }
  const increments = { acknowledged: 0, unknown: 0 }
  const counter = 'shared-counter'
  let highest = 0
  let lastValue = 0
  let deaths = 0

  const saw: Ledger['sawVersion'] = (resourceVersion) => {
    highest = Math.max(highest, Number(resourceVersion ?? 0))
  }
  const configMaps = (client: Client) => client.resource(resourcesOf(client.dialect).configMaps)

  /** The acknowledgement of a create or an update: newer than all that was known when it was asked for. */
  const acknowledge = (object: KubeObject, floor: number): void => {
    const version = Number(object.metadata.resourceVersion)
    if (!(version > floor))
      throw new Error(`resourceVersion ${version} was given after ${floor} had been seen`)
    if (versions.has(version)) throw new Error(`resourceVersion ${version} was given twice`)
    versions.add(version)
    counts.acknowledged += 1
    saw(object.metadata.resourceVersion)
  }
  const read = (client: Client, name: string): Promise<KubeObject | undefined> =>
    untilAnswered(async () => {
      try {
        const found = await configMaps(client).get({ namespace, name })
        saw(found.metadata.resourceVersion)
        return found
      } catch (error) {
        if (isStatusError(error, 'NotFound')) return undefined
        throw error
      }
    })

  const settle = (name: string, after: Version): void => {
    const before = settled.get(name)
    if (before !== undefined && after?.uid !== before.uid) deadUids.add(before.uid)
    settled.set(name, after)
    open.delete(name)
  }

  /** Looks whether a write without an answer took effect. That it did not is settled only when its server was dead before. */
  const look = async (client: Client, name: string, write: OpenWrite): Promise<void> => {
    const isOver = deaths >= write.overAfter
    const found = await read(client, name)
    const after = found === undefined ? undefined : versionOf(found)
    const before = settled.get(name)
    const tookEffect = write.wanted(after)
    if (!tookEffect && !same(after, before))
      throw new Error(`${name}: found ${text(after)}, acknowledged was ${text(before)}`, {
        cause: write.cause,
      })
    if (tookEffect || isOver) settle(name, after)
    else open.set(name, write)
  }

  /** One write. Without an answer it may stay open: then nothing else may be written to that name. */
  const attempt = async (
    client: Client,
    name: string,
    write: { run: () => Promise<Version>; wanted: (found: Version) => boolean },
  ): Promise<void> => {
    try {
      settle(name, await write.run())
    } catch (error) {
      if (!isUncertain(error)) throw error
      counts.unknown += 1
      // The first death may have come before, and be heard of only now; the server of the second was alive after that.
      await look(client, name, { wanted: write.wanted, overAfter: deaths + 2, cause: error })
    }
  }

  const step = async (client: Client, name: string, wantsDelete: boolean): Promise<void> => {
    const resource = configMaps(client)
    const before = settled.get(name)
    const value = String((lastValue += 1))
    const floor = highest
    const object: KubeObject = { metadata: { name, namespace }, data: { value } }
    if (before === undefined) {
      await attempt(client, name, {
        run: async () => {
          const created = await resource.create(object)
          acknowledge(created, floor)
          if (deadUids.has(created.metadata.uid ?? '')) throw new Error(`${name}: an old uid`)
          return versionOf(created)
        },
        wanted: (found) => found?.value === value,
      })
    } else if (wantsDelete) {
      await attempt(client, name, {
        run: async () => {
          await resource.delete({ namespace, name }, { preconditions: { uid: before.uid } })
          counts.acknowledged += 1
          counts.deleted += 1
          return undefined
        },
        wanted: (found) => found === undefined,
      })
    } else {
      await attempt(client, name, {
        run: async () => {
          const updated = await resource.update({
            ...object,
            metadata: { name, namespace, uid: before.uid },
          })
          acknowledge(updated, floor)
          return versionOf(updated)
        },
        wanted: (found) => found?.uid === before.uid && found.value === value,
      })
    }
  }

  const increment: Ledger['increment'] = async (client) => {
    const resource = configMaps(client)
    for (;;) {
      const found = await read(client, counter)
      const floor = highest
      const value = String(Number(found === undefined ? 0 : valueOf(found)) + 1)
      try {
        const written =
          found === undefined
            ? await resource.create({ metadata: { name: counter, namespace }, data: { value } })
            : await resource.update({ ...found, data: { value } })
        acknowledge(written, floor)
        increments.acknowledged += 1
        return
      } catch (error) {
        if (isStatusError(error, 'Conflict', 'AlreadyExists')) continue
        if (!isUncertain(error)) throw error
        increments.unknown += 1
        return
      }
    }
  }

  return {
    counts,
    acknowledgedVersions: versions,
    sawVersion: saw,
    increment,
    serverDied: () => {
      deaths += 1
    },
    write: async (client, prefix, stop) => {
      for (let round = 0; !stop.aborted; round += 1) {
        // Five names, three rounds on each: create, update, delete; and begun again at another place each time.
        const name = `${prefix}-${round % 5}`
        const unanswered = open.get(name)
        if (unanswered !== undefined) await look(client, name, unanswered)
        if (!open.has(name)) await step(client, name, Math.floor(round / 5) % 3 === 2)
        if (round % 10 === 9) await increment(client)
      }
    },
    contradictions: (objects) => {
      const found = new Map(objects.map((object) => [object.metadata.name ?? '', object]))
      const wrong: string[] = []
      for (const name of new Set([...settled.keys(), ...open.keys()])) {
        const wanted = settled.get(name)
        const object = found.get(name)
        const is = object === undefined ? undefined : versionOf(object)
        if (!same(is, wanted) && open.get(name)?.wanted(is) !== true)
          wrong.push(`${name}: is ${text(is)}, acknowledged was ${text(wanted)}`)
      }
      for (const object of objects) {
        const { name = '', uid = '' } = object.metadata
        if (deadUids.has(uid)) wrong.push(`${name}: ${uid} was deleted and is back`)
      }
      const shared = found.get(counter)
      const value = shared === undefined ? 0 : Number(valueOf(shared))
      const { acknowledged, unknown } = increments
      if (!(value >= acknowledged && value <= acknowledged + unknown))
        wrong.push(`${counter}: is ${value}, acknowledged were ${acknowledged}, unknown ${unknown}`)
      return wrong
    },
  }
}
