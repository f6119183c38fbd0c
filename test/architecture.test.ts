import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')

/** The import table of docs/architecture.md: folder -> folders it may import, or 'anything'. */
function importTable(): Map<string, Set<string> | 'anything'> {
  const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const section = text.slice(text.indexOf('## Imports'), text.indexOf('## Concepts'))
  const table = new Map<string, Set<string> | 'anything'>()
  for (const line of section.split('\n')) {
    const [, folder, allowed] = /^\| ([a-z-]+) +\| ([a-z, -]*[a-z]) +\|$/.exec(line) ?? []
    if (folder === undefined || allowed === undefined || folder === 'folder') continue
    table.set(folder, allowed === 'anything' ? 'anything' : new Set(allowed.split(', ')))
  }
  return table
}

/** `components/store/x.ts` -> `store`; `cluster/cli/up.ts` -> `cluster`. */
function folderOf(path: string): string {
  const parts = path.split('/')
  return (parts[0] === 'components' ? parts[1] : parts[0]) ?? ''
}

interface Import {
  readonly from: string
  readonly specifier: string
  readonly isType: boolean
}

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s+(type\s+)?(?:[^'"();]*?from\s+)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g

async function sources(): Promise<string[]> {
  const found: string[] = []
  for (const folder of ['components', 'cluster', 'certs', 'scenarios']) {
    for await (const file of glob(`${folder}/**/*.ts`, { cwd: root })) found.push(file)
  }
  return found.sort()
}

async function imports(): Promise<Import[]> {
  const result: Import[] = []
  for (const from of await sources()) {
    const text = readFileSync(join(root, from), 'utf8')
    for (const [, type, plain, dynamic] of text.matchAll(importPattern)) {
      const specifier = plain ?? dynamic ?? ''
      result.push({ from, specifier, isType: type !== undefined })
    }
  }
  return result
}

/** A package is imported in the one file or folder that wraps it. */
const wrappers: Record<string, readonly string[]> = {
  '@bufbuild/cel': ['components/api-server/cel/'],
  re2js: ['components/api-server/linear-pattern.ts'],
  '@noble/ciphers': ['components/api-server/storage/secretbox.ts'],
  cborg: ['components/api-server/cbor.ts'],
  'sorted-btree': ['components/component-base/sorted-map.ts'],
  '@peculiar/x509': ['certs/'],
  'node-forge': ['certs/'],
  'reflect-metadata': ['certs/'],
  jose: [
    'components/api-server/authn/',
    'components/controller-manager/',
    'components/node-agent/',
    'components/client/',
  ],
  'js-yaml': [
    'components/api-server/yaml.ts',
    'components/client/',
    'scenarios/engine/',
    'cluster/',
  ],
  execa: ['cluster/'],
  systeminformation: ['components/node-agent/host-info.ts'],
  'tar-stream': ['components/node-agent/'],
  ws: ['components/api-server/websocket.ts', 'components/api-server/outgoing/pod-connection.ts'],
}

const productNames =
  /kubernetes\.io|k8s\.io|kube-(?:system|public|node-lease|root-ca)|kubernetes\.default|svc\.io|svc-system/
/** Stream protocols are the same in every dialect, as clients name them; links lead to upstream's documentation. */
const anyDialect =
  /(?:[\w.]*channel|portforward|binary)\.k8s\.io|https:\/\/(?:kubernetes|git\.k8s)\.io\S*/g
const comments = /\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm
/** Files that must know the names of both dialects, or of one alone. */
const spellers = new Set([
  'components/api/dialect.ts',
  // The object does not say which dialect it is in.
  'components/api/conversions/autoscaler-versions.ts',
  // Reserved in every cluster.
  'components/api-server/configuration/jwt-authenticator-reader.ts',
  // An example in the help text.
  'cluster/cli/convert.ts',
])

describe('architecture', () => {
  it('has an import table and sources to check', async () => {
    expect(importTable().size).toBeGreaterThanOrEqual(14)
    expect((await sources()).length).toBeGreaterThan(50)
    expect((await imports()).length).toBeGreaterThan(100)
  })

  it('no folder imports what the table of docs/architecture.md does not allow', async () => {
    const table = importTable()
    const wrong: string[] = []
    for (const { from, specifier } of await imports()) {
      if (!specifier.startsWith('.')) continue
      const target = relative(root, normalize(join(root, dirname(from), specifier)))
      const source = folderOf(from)
      const wanted = folderOf(target)
      if (source === wanted) continue
      const allowed = table.get(source)
      if (allowed === 'anything' || allowed?.has(wanted)) continue
      wrong.push(`${from} imports ${target}`)
    }
    expect(wrong).toEqual([])
  })

  it('a package is imported only where it is wrapped', async () => {
    const wrong: string[] = []
    for (const { from, specifier } of await imports()) {
      if (specifier.startsWith('.') || specifier.startsWith('node:')) continue
      const parts = specifier.split('/')
      const name = specifier.startsWith('@') ? parts.slice(0, 2).join('/') : (parts[0] ?? '')
      const places = wrappers[name]
      if (places?.some((place) => from.startsWith(place))) continue
      wrong.push(`${from} imports ${specifier}`)
    }
    expect(wrong).toEqual([])
  })

  it('only the dialect spells names that carry the product’s', async () => {
    const found: string[] = []
    for (const file of await sources()) {
      if (spellers.has(file) || file.includes('/generated/')) continue
      const code = readFileSync(join(root, file), 'utf8').replaceAll(comments, '')
      const line = code
        .replaceAll(anyDialect, '')
        .match(new RegExp(`.*(?:${productNames.source}).*`))
      if (line !== null) found.push(`${file}: ${line[0].trim()}`)
    }
    expect(found).toEqual([])
  })

  it('no import cycle exists', async () => {
    const edges = new Map<string, string[]>()
    for (const { from, specifier, isType } of await imports()) {
      if (!specifier.startsWith('.') || isType) continue
      const target = relative(root, normalize(join(root, dirname(from), specifier)))
      edges.set(from, [...(edges.get(from) ?? []), target])
    }
    const done = new Set<string>()
    const cycles: string[] = []
    const visit = (file: string, path: readonly string[]): void => {
      const at = path.indexOf(file)
      if (at >= 0) {
        cycles.push([...path.slice(at), file].join(' -> '))
        return
      }
      if (done.has(file)) return
      for (const next of edges.get(file) ?? []) visit(next, [...path, file])
      done.add(file)
    }
    for (const file of edges.keys()) visit(file, [])
    expect(cycles).toEqual([])
  })
})
