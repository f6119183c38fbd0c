/** Manifests for commands: files of objects in YAML or JSON. */
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { ClusterError } from '../cluster-error.ts'
import { parseYamlDocuments } from '../yaml.ts'

/** The text of a file; `-` is standard input. */
export async function textOf(path: string): Promise<string> {
  try {
    return path === '-' ? readFileSync(0, 'utf8') : await readFile(path, 'utf8')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new ClusterError(
      code === 'EACCES' ? 'permission' : 'failed',
      `cannot read ${path}: ${(error as Error).message}`,
      { cause: error },
    )
  }
}

/** The objects of a YAML or JSON text, those in a `List` one by one. `path` is for messages. */
export function objectsOf(text: string, path: string): KubeObject[] {
  let documents: unknown[]
  try {
    documents = parseYamlDocuments(text)
  } catch (error) {
    throw new ClusterError('failed', `${path}: ${(error as Error).message}`, { cause: error })
  }
  return documents
    .filter((document) => document !== null && document !== undefined)
    .flatMap((document) => {
      const { kind, items } = document as { kind?: unknown; items?: unknown }
      if (typeof document !== 'object' || typeof kind !== 'string') {
        throw new ClusterError(
          'failed',
          `${path}: invalid manifest: apiVersion, kind and metadata are required`,
        )
      }
      const isList = kind === 'List' && Array.isArray(items)
      return isList ? (items as KubeObject[]) : [document as KubeObject]
    })
}
