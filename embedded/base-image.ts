/**
 * Base image: what a new cluster holds when its control plane has settled, as text. The build makes it; a cluster that starts from it writes
 * only the few objects that depend on its port.
 */
import { existsSync, readFileSync } from 'node:fs'
import { timestamp } from '../components/component-base/clock.ts'
import type { Clock } from '../components/component-base/clock.ts'
import type { KeyValue } from '../components/store/store.ts'
import type { EmbeddedClusterOptions } from './embedded-options.ts'

/** Stands in the text for what differs from cluster to cluster. */
export const blanks = {
  uid: '@uid@',
  time: '@time@',
  date: '@date@',
  authority: '@authority@',
  frontProxyAuthority: '@front-proxy-authority@',
} as const

export type BaseImageKind = 'with-controllers' | 'api-server-alone'

/** File in the build's folder. */
export function baseImageFile(kind: BaseImageKind): string {
  return `base-image-${kind}.txt`
}

/** Which image a cluster with these options can start from. Undefined: other flags, or a saved cluster, make other objects. */
export function baseImageFor(options: EmbeddedClusterOptions): BaseImageKind | undefined {
  const { extraFlags, initialState, components } = options
  const flags = { ...extraFlags['api-server'], ...extraFlags['controller-manager'] }
  if (initialState !== undefined || Object.keys(flags).length > 0) return undefined
  return components.includes('controller-manager') ? 'with-controllers' : 'api-server-alone'
}

/** Undefined where code runs from sources, and in a build that could not make the image. */
export function readBaseImage(kind: BaseImageKind): string | undefined {
  if (import.meta.url.endsWith('.ts')) return undefined
  // This code is in a script of the build, or in the folder of its chunks.
  const files = ['./', '../'].map((at) => new URL(`${at}${baseImageFile(kind)}`, import.meta.url))
  const found = files.find((file) => existsSync(file))
  return found === undefined ? undefined : readFileSync(found, 'utf8')
}

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
