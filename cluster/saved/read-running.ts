/** readRunning: a running cluster as the lines of a file for `skiff up --from`, with the rights of whoever asks. */
import type { Client } from '../../components/client/client.ts'
import { readSaved, savedLines, type SavedForm } from '../../components/store/saved-cluster.ts'
import { wholeHeader, type SavedSurroundings } from './save-cluster.ts'

interface RunningCluster {
  readonly revision: number
  /** They fail when the server's answer is not whole. */
  readonly lines: AsyncIterable<Buffer>
}

/** Rejects with what the API server answers: 403 for whoever may not read all that is stored. */
export async function readRunning(
  { rest }: Pick<Client, 'rest'>,
  { form, signal, ...surroundings }: SavedSurroundings & { form: SavedForm; signal: AbortSignal },
): Promise<RunningCluster> {
  const path = `/debug/state?form=${form}`
  const { chunks } = await rest.stream({ method: 'GET', path, signal })
  const { header, kvs } = await readSaved(chunks)
  const lines = savedLines(wholeHeader(header, surroundings), kvs)
  return { revision: header.revision, lines }
}
