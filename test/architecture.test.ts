import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')

type ImportTable = ReadonlyMap<string, ReadonlySet<string> | 'anything'>

/** Folders that a row names, one by one; 'anything' names none. */
const namedBy = (allowed: ReadonlySet<string> | 'anything'): readonly string[] =>
  allowed === 'anything' ? [] : [...allowed]

/** The table below a heading of docs/architecture.md: folder -> folders it may import, in the table's order. */
function importTable(heading: string): ImportTable {
  const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const [, section = ''] = text.split(`## ${heading}\n`)
  const table = new Map<string, Set<string> | 'anything'>()
  for (const line of /(?:^\|.*\n)+/m.exec(section)?.[0].split('\n') ?? []) {
    const [, folder, allowed] = /^\| ([a-z0-9-]+) +\| ([a-z0-9, -]*[a-z0-9]) +\|$/.exec(line) ?? []
    if (folder === undefined || allowed === undefined || allowed.startsWith('may import')) continue
    const names = allowed === 'nothing' ? [] : allowed.split(', ')
    table.set(folder, allowed === 'anything' ? 'anything' : new Set(names))
  }
  return table
}

/** `components/api-server/authn/union.ts` -> `authn`; undefined outside of the API server and for its entry. */
function roomOf(path: string): string | undefined {
  const [, room] = /^components\/api-server\/([^/]+)\//.exec(path) ?? []
  return room
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
  const folders = [
    'components',
    'cluster',
    'console',
    'certs',
    'envtest',
    'scenarios',
    'embedded',
    'explore',
    'library',
    'monitors',
  ]
  for (const folder of folders) {
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
  '@bufbuild/cel': ['components/cel/'],
  re2js: ['components/cel/linear-pattern.ts'],
  'age-encryption': ['cluster/backup/seal.ts'],
  '@noble/ciphers': ['components/api-server/encryption/secretbox.ts'],
  cborg: ['components/api-server/encoding/cbor.ts'],
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
  '@michaelhomer/jqjs': ['components/stage-runner/jq.ts'],
  'js-yaml': ['components/machinery/values/yaml.ts', 'cluster/'],
  execa: ['cluster/'],
  systeminformation: ['components/node-agent/node/host-info.ts'],
  'tar-stream': ['components/node-agent/'],
  ink: ['console/top/top-screen.ts'],
  react: ['console/top/top-screen.ts'],
  vitest: ['library/fixtures/vitest.ts'],
  ws: [
    'components/api-server/start/websocket-messages.ts',
    'components/api-server/egress/pod-connection.ts',
    'console/server/',
  ],
  preact: ['console/page/'],
  '@preact/signals': ['console/page/'],
}

const productNames =
  /kubernetes\.io|k8s\.io|kube-(?:system|public|node-lease|root-ca)|kubernetes\.default|svc\.io|svc-system/
/** Stream protocols and kwok's names are the same in every dialect, as clients name them; links lead to upstream's documentation. */
const anyDialect =
  /(?:[\w.]*channel|portforward|binary)\.k8s\.io|kwok\.x-k8s\.io|https:\/\/(?:kubernetes|git\.k8s)\.io\S*/g
const comments = /\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm
/** Files that must know the names of both dialects, or of one alone. */
const spellers = new Set([
  'components/api/dialect.ts',
  // The object does not say which dialect it is in.
  'components/api/conversions/autoscaler-versions.ts',
  // Reserved in every cluster.
  'components/api-server/authn/configuration/jwt-authenticator-reader.ts',
  // An example in the help text.
  'cluster/cli/convert.ts',
])

describe('architecture', () => {
  it('has an import table and sources to check', async () => {
    expect(importTable('Imports').size).toBeGreaterThanOrEqual(15)
    expect(importTable('Rooms of the API server').size).toBeGreaterThanOrEqual(24)
    expect((await sources()).length).toBeGreaterThan(50)
    expect((await imports()).length).toBeGreaterThan(100)
  })

  it('no folder imports what the table of docs/architecture.md does not allow', async () => {
    const table = importTable('Imports')
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

  it('every room of the API server stands in its table, and may import only rooms above it', async () => {
    const table = importTable('Rooms of the API server')
    const order = [...table.keys()]
    const backward = [...table].flatMap(([room, allowed]) =>
      namedBy(allowed).filter((other) => order.indexOf(other) >= order.indexOf(room)),
    )
    expect(backward).toEqual([])
    const rooms = (await sources()).flatMap((file) => roomOf(file) ?? [])
    expect(new Set(rooms)).toEqual(new Set(order))
  })

  it('no room of the API server imports what its table does not allow, types included', async () => {
    const table = importTable('Rooms of the API server')
    const wrong: string[] = []
    const used = new Set<string>()
    for (const { from, specifier } of await imports()) {
      if (!specifier.startsWith('.')) continue
      const target = relative(root, normalize(join(root, dirname(from), specifier)))
      const room = roomOf(from)
      const other = roomOf(target)
      if (room === undefined || other === undefined || room === other) continue
      used.add(`${room} ${other}`)
      const allowed = table.get(room)
      if (allowed === 'anything' || allowed?.has(other)) continue
      wrong.push(`${from} imports ${target}`)
    }
    expect(wrong).toEqual([])
    const stale = [...table].flatMap(([room, allowed]) =>
      namedBy(allowed)
        .map((other) => `${room} ${other}`)
        .filter((edge) => !used.has(edge)),
    )
    expect(stale).toEqual([])
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

  it('no source declares with `using`, which Node.js 22 cannot parse', async () => {
    const files = (await sources()).filter((file) => !/^(?:scripts|test)\//.test(file))
    expect(files.length).toBeGreaterThan(500)
    const found = files.filter((file) =>
      /^\s*(?:await )?using \w+ = /m.test(readFileSync(join(root, file), 'utf8')),
    )
    expect(found).toEqual([])
  })

  it('only certificate-subject.ts reads a subject, since who reads one first must load TLS before', async () => {
    const files = (await sources()).filter((file) =>
      readFileSync(join(root, file), 'utf8').includes('.toLegacyObject('),
    )
    expect(files).toEqual(['components/component-base/certificate-subject.ts'])
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
