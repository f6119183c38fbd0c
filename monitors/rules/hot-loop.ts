/**
 * Nothing spins: an object is not written over and over with a state that it has had, times aside, and no owner makes and loses
 * objects in great numbers while it has few.
 */
import { createHash } from 'node:crypto'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import type { Change } from '../change.ts'
import { nameOf, uidOf, writtenAtMs } from '../change.ts'
import { findingOf, type Finding, type Rule } from '../monitor.ts'

const windowMs = 30_000
/** States of an object that are remembered. */
const remembered = 8
/** Returns to a remembered state within the window; retries and tests that switch something to and fro make a few. */
const mostRepeats = 30
/** Objects that an owner makes within the window, beside four times as many as it has at once. */
const mostMade = 60

interface Written {
  states: string[]
  repeatsAtMs: number[]
  isReported: boolean
}

interface Maker {
  madeAtMs: number[]
  readonly alive: Set<string>
  mostAlive: number
  isReported: boolean
}

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

/** The object without its version, the fields' managers and times. */
function stateOf({ metadata, ...rest }: KubeObject): string {
  const { resourceVersion: _, managedFields: __, ...kept } = metadata
  const text = JSON.stringify({ ...rest, metadata: kept }, (_key, value: unknown) =>
    typeof value === 'string' && time.test(value) ? 'time' : value,
  )
  return createHash('sha1').update(text).digest('base64')
}

export function hotLoop(): Required<Pick<Rule, 'take'>> {
  const written = new Map<string, Written>()
  const makers = new Map<string, Maker>()

  const takeWrite = (change: Change): Finding[] => {
    const uid = uidOf(change.object)
    if (change.type === 'DELETED') {
      written.delete(uid)
      return []
    }
    const known = written.get(uid) ?? { states: [], repeatsAtMs: [], isReported: false }
    written.set(uid, known)
    const state = stateOf(change.object)
    const isRepeat = known.states.includes(state)
    known.states = [...known.states.filter((one) => one !== state), state].slice(-remembered)
    if (!isRepeat || change.isListed) return []
    const atMs = writtenAtMs(change)
    known.repeatsAtMs = [...known.repeatsAtMs.filter((at) => at > atMs - windowMs), atMs]
    if (known.isReported || known.repeatsAtMs.length <= mostRepeats) return []
    known.isReported = true
    const text = `${nameOf(change)} was written ${known.repeatsAtMs.length} times within ${windowMs / 1000} s with a state that it had before, last at revision ${change.revision}`
    return [findingOf(change, text)]
  }
  const takeMade = (change: Change): Finding[] => {
    const owner = change.object.metadata.ownerReferences?.find(({ controller }) => controller)
    if (owner === undefined) return []
    const uid = uidOf(change.object)
    const key = `${owner.uid} ${change.resource.plural}`
    const maker = makers.get(key) ?? {
      madeAtMs: [],
      alive: new Set(),
      mostAlive: 0,
      isReported: false,
    }
    makers.set(key, maker)
    if (change.type === 'DELETED') maker.alive.delete(uid)
    else maker.alive.add(uid)
    maker.mostAlive = Math.max(maker.mostAlive, maker.alive.size)
    if (change.type !== 'ADDED' || change.isListed) return []
    const atMs = writtenAtMs(change)
    maker.madeAtMs = [...maker.madeAtMs.filter((at) => at > atMs - windowMs), atMs]
    const most = mostMade + 4 * maker.mostAlive
    if (maker.isReported || maker.madeAtMs.length <= most) return []
    maker.isReported = true
    const text = `${owner.kind} ${change.object.metadata.namespace ?? ''}/${owner.name} (uid ${owner.uid}) made ${maker.madeAtMs.length} ${change.resource.plural} within ${windowMs / 1000} s and had ${maker.mostAlive} at once, last ${nameOf(change)} at revision ${change.revision}`
    return [findingOf(change, text)]
  }
  const forgetMaker = ({ type, object }: Change): void => {
    if (type !== 'DELETED') return
    for (const key of makers.keys()) if (key.startsWith(`${uidOf(object)} `)) makers.delete(key)
  }
  return {
    take: (change) => {
      forgetMaker(change)
      return [...takeWrite(change), ...takeMade(change)]
    },
  }
}
