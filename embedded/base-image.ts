/** Base images of embedded clusters (components/api-server/saving/base-image.ts): which options allow for one, and where the build has it. */
import { existsSync, readFileSync } from 'node:fs'
import type { EmbeddedClusterOptions } from './embedded-options.ts'

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
