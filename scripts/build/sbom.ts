/**
 * The software bill of materials: the bundled packages as CycloneDX 1.5 JSON. `npm sbom` is not used: it lists every
 * development dependency, and its time and serial number differ from run to run.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { BundledPackage } from './bundled-packages.ts'

interface LockEntry {
  readonly integrity?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

type Lock = Readonly<Record<string, LockEntry>>

function readLock(root: string): Lock {
  const text = readFileSync(join(root, 'package-lock.json'), 'utf8')
  return (JSON.parse(text) as { packages: Lock }).packages
}

/** `pkg:npm/%40scope/name@1.2.3` (package URL specification). */
const purlOf = ({ name, version }: Pick<BundledPackage, 'name' | 'version'>): string =>
  `pkg:npm/${name.replace('@', '%40')}@${version}`

/** The installed package that `name` means for code in `from`, as Node resolves it. */
function resolved(lock: Lock, from: string, name: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = folder === '.' ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (Object.hasOwn(lock, path)) return path
    if (folder === '.') return undefined
  }
}

function hashesOf(entry: LockEntry | undefined): object[] {
  const [algorithm, digest] = entry?.integrity?.split('-') ?? []
  if (algorithm !== 'sha512' || digest === undefined) return []
  return [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }]
}

function licencesOf(license: string): object[] {
  return [/ (?:AND|OR) /.test(license) ? { expression: license } : { license: { id: license } }]
}

/** One package with what the bill says of it. */
function componentOf(one: BundledPackage, entry: LockEntry | undefined): object {
  const { homepage } = one
  return {
    type: 'library',
    'bom-ref': purlOf(one),
    name: one.name,
    version: one.version,
    scope: 'required',
    hashes: hashesOf(entry),
    licenses: licencesOf(one.license),
    purl: purlOf(one),
    ...(homepage === undefined ? {} : { externalReferences: [{ type: 'website', url: homepage }] }),
  }
}

/** `timestamp`: of the commit that is built, so that a second build gives the same bytes. */
export function sbomOf(
  root: string,
  packages: readonly BundledPackage[],
  timestamp: string,
): string {
  const lock = readLock(root)
  const own = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as BundledPackage
  const refs = new Map(packages.map((one) => [one.path, purlOf(one)]))
  const dependsOn = (from: string, names: Readonly<Record<string, string>> = {}): string[] =>
    Object.keys(names)
      .flatMap((name) => refs.get(resolved(lock, from, name) ?? '') ?? [])
      .toSorted()
  const bill = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    version: 1,
    metadata: {
      timestamp,
      lifecycles: [{ phase: 'build' }],
      component: {
        type: 'library',
        'bom-ref': purlOf(own),
        name: own.name,
        version: own.version,
        licenses: licencesOf(own.license),
        purl: purlOf(own),
      },
    },
    components: packages.map((one) => componentOf(one, lock[one.path])),
    dependencies: [
      { ref: purlOf(own), dependsOn: dependsOn('.', lock['']?.devDependencies) },
      ...packages.map((one) => ({
        ref: purlOf(one),
        dependsOn: dependsOn(one.path, lock[one.path]?.dependencies),
      })),
    ],
  }
  return `${JSON.stringify(bill, null, 2)}\n`
}
