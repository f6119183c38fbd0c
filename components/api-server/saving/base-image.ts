/**
 * Base image: what a new cluster holds when its control plane has settled, as text that the build makes. A store that begins with it
 * needs only the few objects that depend on the cluster's port.
 */
import { timestamp } from '../../component-base/clock.ts'
import type { Clock } from '../../component-base/clock.ts'
import { StoreError, type KeyValue, type Store } from '../../store/store.ts'

/** Stands in the text for what differs from cluster to cluster. */
export const blanks = {
  uid: '@uid@',
  time: '@time@',
  date: '@date@',
  authority: '@authority@',
  frontProxyAuthority: '@front-proxy-authority@',
} as const

const line = /^\/registry\/[^/\t]+\/[^\t]+\t\{.*\}$/

/** What a cluster fills the blanks with. Authorities are PEM. */
export interface BaseImageOwner {
  /** Gives the time, and a uid for each object. */
  readonly clock: Pick<Clock, 'now' | 'uuid'>
  readonly authority: string
  readonly frontProxyAuthority: string
}

/** The content of a store, at revisions from 1. */
export function filledImage(text: string, owner: BaseImageOwner): KeyValue[] {
  const time = timestamp(owner.clock.now())
  const insideJson = (pem: string): string => JSON.stringify(pem).slice(1, -1)
  const filled = text
    .replaceAll(blanks.time, time)
    .replaceAll(blanks.date, time.slice(0, 'YYYY-MM-DD'.length))
    .replaceAll(blanks.authority, insideJson(owner.authority))
    .replaceAll(blanks.frontProxyAuthority, insideJson(owner.frontProxyAuthority))
  return filled
    .split('\n')
    .slice(0, -1)
    .map((line, index) => {
      const [key = '', object = ''] = line.split('\t')
      const value = Buffer.from(`${object.replace(blanks.uid, () => owner.clock.uuid())}\n`)
      return { key, value, createRevision: index + 1, modRevision: index + 1 }
    })
}

/** Fills an empty store; one that holds anything stays as it is. Throws a TypeError for a text that is no base image. */
export async function fillFromBase(
  store: Store,
  text: string,
  owner: BaseImageOwner,
): Promise<void> {
  const lines = text.split('\n')
  if (lines.length < 2 || lines.pop() !== '' || !lines.every((one) => line.test(one)))
    throw new TypeError('it is no base image')
  const kvs = filledImage(text, owner)
  try {
    await store.load(kvs, kvs.length)
  } catch (error) {
    if (!(error instanceof StoreError && error.code === 'not-empty')) throw error
  }
}
