/** useFamily: an object's owners and what it owns, whichever kind, live. */
import { effect, signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { KubeList, KubeObject } from '../../../../../components/machinery/objects/object.ts'
import type { TableRow } from '../../../../protocol/live.ts'
import { acceptAs, groupNamed } from '../../../app/groups.ts'
import { read } from '../../../app/api.ts'
import { followTable, type LiveRows } from '../../../app/live.ts'
import { messageOf } from '../../../app/message-of.ts'
import { apiPath, splitApiVersion } from '../../../app/object-place.ts'
import { kindNamed, listedKinds, qualifiedName, type Kind } from '../kinds/kinds.ts'
import { cellText } from '../list/shown-rows.ts'
import { familyOf, type FamilyMember } from './family-graph.ts'

/** A member as it is drawn. */
export interface ShownMember extends FamilyMember {
  readonly place: Kind | undefined
  /** Its first telling cells: `1/1 Running`. */
  readonly state: string
  /** Grows with its changes. */
  readonly change: number
}

export interface Family {
  readonly members: readonly ShownMember[]
  /** Until all kinds have been read once. */
  readonly isWhole: boolean
  /** Kinds that could not be read. */
  readonly notRead: readonly string[]
}

/** Objects of one kind whose owners are looked at. */
const pageSize = 500
const mostPages = 10
/** Browsers send six requests to one host at a time, and some of them are for others. */
const sideBySide = 4
/** Followed live; each costs a watch. */
const mostFollowed = 12
const lookAgainMs = 15_000
/** Kinds that other kinds make: a Deployment without pods has them later. They are read first. */
const usuallyOwned = (): string[] => [
  'pods',
  'deployments.apps',
  'replicasets.apps',
  'jobs.batch',
  'controllerrevisions.apps',
  `endpointslices.${groupNamed('discovery')}`,
]
/** What is written all the time and owned by nodes, which are no family. */
const neverFollowed = (): Set<string> =>
  new Set(['events', `events.${groupNamed('events')}`, `leases.${groupNamed('coordination')}`])

interface Known {
  readonly object: KubeObject
  readonly kind: Kind
}

async function readKind(kind: Kind, namespace: string, signal: AbortSignal): Promise<Known[]> {
  const found: Known[] = []
  let next: string | undefined
  for (let page = 0; page < mostPages; page += 1) {
    const query = { limit: pageSize, continue: next }
    const list = await read<KubeList>(apiPath(kind, { namespace }), {
      accept: acceptAs('PartialObjectMetadataList'),
      query,
      signal,
    })
    for (const object of list.items) found.push({ object, kind })
    next = list.metadata.continue || undefined
    if (next === undefined) break
  }
  return found
}

interface Scan {
  readonly found: ReadonlyMap<string, Known>
  readonly notRead: readonly string[]
}

/** Metadata of all that could be related: of the object's namespace, and of owners without one. `onFound`: after each kind. */
async function scan(
  kinds: readonly Kind[],
  options: {
    readonly namespace: string
    readonly signal: AbortSignal
    readonly onFound: (scan: Scan) => void
  },
): Promise<Scan> {
  const { namespace, signal, onFound } = options
  const found = new Map<string, Known>()
  const notRead: string[] = []
  const rank = (kind: Kind): number => (usuallyOwned().includes(qualifiedName(kind)) ? 0 : 1)
  const waiting = listedKinds(kinds)
    .filter((kind) => kind.verbs.includes('get') && !neverFollowed().has(qualifiedName(kind)))
    .toSorted((a, b) => rank(a) - rank(b))
  const work = async (): Promise<void> => {
    for (let kind = waiting.shift(); kind !== undefined; kind = waiting.shift()) {
      try {
        const within = kind.isNamespaced ? namespace : ''
        for (const known of await readKind(kind, within, signal))
          found.set(known.object.metadata.uid ?? '', known)
        onFound({ found, notRead })
      } catch (error) {
        if (signal.aborted) throw error
        notRead.push(`${qualifiedName(kind)}: ${messageOf(error)}`)
      }
    }
  }
  await Promise.all(Array.from({ length: sideBySide }, work))
  return { found, notRead }
}

function memberOf({ object, kind }: Known): ShownMember {
  const { uid = '', name = '', namespace = '', ownerReferences = [] } = object.metadata
  const owners = ownerReferences.map((owner) => owner.uid)
  return { uid, name, namespace, owners, kind: kind.kind, place: kind, state: '', change: 0 }
}

/** Columns that say how it is going. */
const telling = /^(Ready|Status|Completions|Phase)$/

function stateOf(live: LiveRows<TableRow>, row: TableRow): string {
  const texts = live.columns.flatMap(({ name, priority = 0 }, index) =>
    priority === 0 && telling.test(name) ? [cellText(row, index)] : [],
  )
  return texts.slice(0, 2).join(' ')
}

/** Rows of the kinds that are followed take the place of what the scan found of these kinds. */
class FamilyModel {
  readonly #kinds: readonly Kind[]
  readonly #focus: KubeObject
  #scan: Scan | undefined
  readonly #followed = new Map<string, { kind: Kind; live: LiveRows<TableRow> | undefined }>()
  readonly #changes = new Map<string, number>()

  constructor(kinds: readonly Kind[], focus: KubeObject) {
    this.#kinds = kinds
    this.#focus = focus
  }

  take(found: Scan): void {
    this.#scan = found
  }

  rows(kind: Kind, live: LiveRows<TableRow>): void {
    for (const key of live.changed ?? []) this.#changes.set(key, (this.#changes.get(key) ?? 0) + 1)
    this.#followed.set(qualifiedName(kind), { kind, live })
  }

  /** Kinds of the family, and those that members usually own. */
  kindsToFollow(): Kind[] {
    const own = this.members().flatMap(({ place }) => place ?? [])
    const usual = listedKinds(this.#kinds).filter((kind) =>
      usuallyOwned().includes(qualifiedName(kind)),
    )
    const wanted = new Map([...own, ...usual].map((kind) => [qualifiedName(kind), kind]))
    return [...wanted.values()]
      .filter(({ verbs }) => verbs.includes('watch'))
      .slice(0, mostFollowed)
  }

  /** An owner that could not be read, by what the reference says of it. */
  #unread(known: ReadonlyMap<string, ShownMember>): ShownMember[] {
    const { namespace = '', ownerReferences = [] } = this.#focus.metadata
    return ownerReferences
      .filter(({ uid }) => !known.has(uid))
      .map(({ uid, name, kind, apiVersion }) => {
        const place = kindNamed(this.#kinds, { ...splitApiVersion(apiVersion), kind })
        return { uid, name, kind, namespace, owners: [], place, state: 'not there', change: 0 }
      })
  }

  members(): ShownMember[] {
    const all = new Map<string, ShownMember>()
    const live = [...this.#followed.values()].filter((one) => one.live?.isWhole === true)
    const isLive = new Set(
      live.filter((one) => one.live?.end === undefined).map(({ kind }) => qualifiedName(kind)),
    )
    for (const known of this.#scan?.found.values() ?? [])
      if (!isLive.has(qualifiedName(known.kind)))
        all.set(known.object.metadata.uid ?? '', memberOf(known))
    for (const { kind, live: rows } of live) {
      for (const row of rows?.rows.values() ?? []) {
        const { key: uid, name, namespace = '', owners = [] } = row
        const shown = { uid, name, namespace, owners, kind: kind.kind, place: kind }
        const state = rows === undefined ? '' : stateOf(rows, row)
        all.set(uid, { ...shown, state, change: this.#changes.get(uid) ?? 0 })
      }
    }
    const focusUid = this.#focus.metadata.uid ?? ''
    for (const unread of this.#unread(all)) all.set(unread.uid, unread)
    return familyOf(all, focusUid)
  }
}

function followFamily(kinds: readonly Kind[], focus: KubeObject) {
  const model = new FamilyModel(kinds, focus)
  const left = new AbortController()
  const family = signal<Family>({ members: [], isWhole: false, notRead: [] })
  const followed = new Map<string, () => void>()
  const namespace = focus.metadata.namespace ?? ''
  const draw = (): void => {
    family.value = { ...family.peek(), members: model.members() }
  }
  const follow = (kind: Kind): void => {
    const name = qualifiedName(kind)
    if (followed.has(name)) return
    const { live, leave } = followTable({
      path: apiPath(kind, { namespace: kind.isNamespaced ? namespace : '' }),
    })
    const stop = effect(() => {
      model.rows(kind, live.value)
      if (live.value.isWhole) draw()
    })
    followed.set(name, () => {
      stop()
      leave()
    })
  }
  const look = async (): Promise<void> => {
    try {
      const isFirst = !family.peek().isWhole
      const found = await scan(kinds, {
        namespace,
        signal: left.signal,
        onFound: (some) => {
          if (!isFirst) return
          model.take(some)
          draw()
        },
      })
      model.take(found)
      family.value = { members: model.members(), isWhole: true, notRead: found.notRead }
      model.kindsToFollow().forEach(follow)
    } catch (error) {
      if (!left.signal.aborted) family.value = { ...family.peek(), notRead: [messageOf(error)] }
    }
  }
  void look()
  const timer = setInterval(() => void look(), lookAgainMs)
  return {
    family,
    leave: () => {
      left.abort()
      clearInterval(timer)
      for (const stop of followed.values()) stop()
    },
  }
}

/** Begins anew when the object is another one. */
export function useFamily(kinds: readonly Kind[], focus: KubeObject): Family {
  const [family, setFamily] = useState<Family>({ members: [], isWhole: false, notRead: [] })
  const { uid } = focus.metadata
  useEffect(() => {
    const followed = followFamily(kinds, focus)
    const stop = followed.family.subscribe(setFamily)
    return () => {
      stop()
      followed.leave()
    }
  }, [kinds, uid])
  return family
}
