/** Saving: the whole cluster as a file, as its API server gives it to administrators. */
import { resolve } from 'node:path'
import { writeState } from '../cluster/saved/save-cluster.ts'
import type { Connection } from './connection.ts'

/** `nodes` start with a cluster that begins with the file. Rejects with a ClusterError; then there is no file. */
export async function saveTo(
  file: string,
  { client }: Connection,
  nodes: readonly string[],
): Promise<void> {
  const { chunks } = await client.rest.stream({ method: 'GET', path: '/debug/state' })
  await writeState(chunks, {
    file: resolve(file),
    nodes: nodes.map((name) => ({ name })),
    flags: {},
    onProgress: () => {},
  })
}
