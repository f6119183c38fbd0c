/** The documents of a file with faults, or with a mix of them. */
import { readFileSync } from 'node:fs'
import { ClusterError } from '../cluster-error.ts'
import type { LocatedDocument } from '../located-yaml.ts'
import { explained } from '../system-error.ts'

const standardInput = 0

/** `-` is standard input. `where`: the file, for messages. */
export async function readDocuments(
  file: string,
): Promise<{ readonly where: string; readonly documents: readonly LocatedDocument[] }> {
  const { parseLocatedDocuments, YamlError } = await import('../located-yaml.ts')
  const where = file === '-' ? 'standard input' : file
  const text = await explained(where, () =>
    readFileSync(file === '-' ? standardInput : file, 'utf8'),
  )
  try {
    return { where, documents: parseLocatedDocuments(text) }
  } catch (error) {
    if (!(error instanceof YamlError)) throw error
    throw new ClusterError('usage', `${where}:${error.line} is not YAML: ${error.message}`, {
      cause: error,
    })
  }
}
