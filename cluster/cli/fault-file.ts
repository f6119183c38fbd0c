/** The documents of a file with faults, or with a mix of them. */
import { readFileSync } from 'node:fs'
import { ClusterError } from '../cluster-error.ts'
import { explained } from '../system-error.ts'

const standardInput = 0

/** `-` is standard input. `where`: the file, for messages. */
export async function readDocuments(
  file: string,
): Promise<{ readonly where: string; readonly documents: readonly unknown[] }> {
  const { parseYamlDocuments } = await import('../yaml.ts')
  const where = file === '-' ? 'standard input' : file
  const text = await explained(where, () =>
    readFileSync(file === '-' ? standardInput : file, 'utf8'),
  )
  try {
    return { where, documents: parseYamlDocuments(text) }
  } catch (error) {
    const [line = ''] = (error as Error).message.split('\n')
    throw new ClusterError('usage', `${where} is not YAML: ${line}`, { cause: error })
  }
}
