/** Manifests: the objects of files and folders, each with its place, and objects that come as values. */
import { expanded } from '../components/machinery/values/yaml.ts'
import { parseLocatedDocuments, YamlError } from '../cluster/located-yaml.ts'
import type { LocatedDocument } from '../cluster/located-yaml.ts'
import { faultAt, ManifestError } from './manifest-error.ts'
import type { ManifestFault } from './manifest-error.ts'
import { readManifestFiles } from './manifest-files.ts'
import type { ManifestFile } from './manifest-files.ts'
import type { KubernetesObject } from './types.ts'

export interface Manifest {
  readonly object: KubernetesObject & { readonly kind: string }
  /** `config/role.yaml:12`, `objects[0]`. */
  readonly place: string
}

const mostObjects = 50_000

/**
 * The objects in the order given: those of files and folders (strings), items of a List one by one, and objects that are given
 * as they are. Rejects with a ManifestError that lists everything that cannot be read.
 */
export async function readManifests(
  what: readonly (string | KubernetesObject)[],
): Promise<Manifest[]> {
  const manifests: Manifest[] = []
  const faults: ManifestFault[] = []
  let given = 0
  for (const one of what) {
    if (typeof one !== 'string') {
      const place = `objects[${given}]`
      given += 1
      const items = itemsOf(one)
      if (items === undefined) addObject(one, place, { manifests, faults })
      else
        for (const [index, item] of items.entries())
          addObject(item, `${place}.items[${index}]`, { manifests, faults })
      continue
    }
    const read = await readManifestFiles([one])
    faults.push(...read.faults)
    for (const file of read.files) addFile(file, { manifests, faults })
  }
  if (manifests.length > mostObjects)
    faults.push(faultAt('manifests', `more than ${mostObjects} objects: name fewer files`))
  if (faults.length > 0) throw new ManifestError('these manifests cannot be read', faults)
  return manifests
}

interface Collected {
  readonly manifests: Manifest[]
  readonly faults: ManifestFault[]
}

function addFile({ path, text }: ManifestFile, collected: Collected): void {
  let documents: LocatedDocument[]
  try {
    documents = parseLocatedDocuments(text)
  } catch (error) {
    const line = error instanceof YamlError ? `:${error.line}` : ''
    collected.faults.push(faultAt(`${path}${line}`, (error as Error).message, error))
    return
  }
  for (const document of documents) addDocument(document, { path, text, collected })
}

function addDocument(
  { value, lineOf }: LocatedDocument,
  file: ManifestFile & { readonly collected: Collected },
): void {
  const { path, text, collected } = file
  if (value === null || value === undefined) return
  const add = (one: unknown, line: number): void => {
    const place = `${path}:${line}`
    try {
      addObject(expanded(one, text), place, collected)
    } catch (error) {
      collected.faults.push(faultAt(place, (error as Error).message, error))
    }
  }
  const items = itemsOf(value)
  if (items === undefined) add(value, lineOf([]))
  else for (const [index, item] of items.entries()) add(item, lineOf(['items', index]))
}

/** The objects of a List; undefined for anything else. */
function itemsOf(value: unknown): readonly unknown[] | undefined {
  const { kind, items } = value as { kind?: unknown; items?: unknown }
  const isList = typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)
  return isList ? items : undefined
}

function addObject(value: unknown, place: string, { manifests, faults }: Collected): void {
  const { apiVersion, kind, metadata } = (value ?? {}) as Partial<KubernetesObject>
  if (typeof kind !== 'string' || typeof apiVersion !== 'string' || kind === '')
    faults.push(faultAt(place, 'is not a manifest: it needs apiVersion, kind and metadata.name'))
  else if (kind === 'Kustomization' && apiVersion.startsWith('kustomize.config.'))
    faults.push(faultAt(place, 'is a kustomization: call its file kustomization.yaml'))
  else if (typeof metadata?.name !== 'string' || metadata.name === '')
    faults.push({ ...faultAt(place, 'has no metadata.name'), object: kind })
  else manifests.push({ object: value as Manifest['object'], place })
}
