/** Bundled packages: the packages of other people whose code or texts are in `dist`, found in esbuild's metafiles. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'

export interface BundledPackage {
  /** Where it is installed, from the repository's root: `node_modules/x/node_modules/y`. */
  readonly path: string
  readonly name: string
  readonly version: string
  /** As package.json says, an SPDX expression. Empty when it says nothing. */
  readonly license: string
  readonly homepage?: string
  /** Its files in the bundles, from the repository's root. */
  readonly files: readonly string[]
}

/** Packages that a generated source was made of (`scripts/generate-schemas.ts`): it holds their texts. */
const generatedFrom = ['node_modules/@kubernetes/client-node']

/** `node_modules/a/node_modules/@b/c/x.js` -> `node_modules/a/node_modules/@b/c`; undefined for our own files. */
export function packagePathOf(file: string): string | undefined {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0]
}

/** Files whose code reached an output. What is imported but dropped again is not in it. */
function filesIn(metafiles: readonly Metafile[]): string[] {
  const used = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([file, { bytesInOutput }]) =>
        bytesInOutput > 0 ? [file] : [],
      ),
    ),
  )
  return [...new Set(used)].toSorted()
}

function described(root: string, path: string, files: readonly string[]): BundledPackage {
  const manifest = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')) as {
    name: string
    version: string
    license?: string
    homepage?: string
  }
  const { name, version, license = '', homepage } = manifest
  return { path, name, version, license, ...(homepage === undefined ? {} : { homepage }), files }
}

/** In the order of names and versions. A package that is installed twice in one version counts once. */
export function bundledPackages(root: string, metafiles: readonly Metafile[]): BundledPackage[] {
  const filesOf = new Map<string, string[]>(generatedFrom.map((path) => [path, []]))
  for (const file of filesIn(metafiles)) {
    const path = packagePathOf(file)
    if (path !== undefined) filesOf.set(path, [...(filesOf.get(path) ?? []), file])
  }
  const byIdentity = new Map<string, BundledPackage>()
  for (const [path, files] of filesOf) {
    const one = described(root, path, files)
    const identity = `${one.name}@${one.version}`
    if (!byIdentity.has(identity)) byIdentity.set(identity, one)
  }
  return [...byIdentity].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
}
