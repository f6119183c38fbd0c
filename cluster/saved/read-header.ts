/** The header of a saved cluster, checked before a cluster is made from it: the file may come from anywhere. */
import { openSavedFile } from '../../components/store/saved-cluster-file.ts'
import { SavedClusterError, type SavedHeader } from '../../components/store/saved-cluster.ts'
import { dialectNamed, type Dialect } from '../../components/api/dialect.ts'
import { ClusterError } from '../cluster-error.ts'
import type { NodeConfig } from '../plan/cluster-config.ts'
import { checkNodeName, checkSimulated } from '../check-node.ts'
import { explained } from '../system-error.ts'

export interface CheckedHeader extends SavedHeader {
  readonly dialect: Dialect['name']
  readonly nodes: readonly NodeConfig[]
}

/** What a node is, not what its agent does on this machine. */
const flagsOfNodes = new Set(['node-labels', 'register-with-taints', 'capacity'])

/** The names of nodes become names of folders, and their flags those of processes. Throws a ClusterError or SavedClusterError. */
function checkNodes(nodes: readonly NodeConfig[]): void {
  for (const { name, simulated, flags = {} } of nodes) {
    checkNodeName(name)
    if (simulated !== undefined) checkSimulated(simulated, 1)
    const other = Object.keys(flags).find((flag) => !flagsOfNodes.has(flag))
    if (other !== undefined)
      throw new SavedClusterError(`is refused: its node ${name} sets the flag --${other}`)
  }
  if (new Set(nodes.map(({ name }) => name)).size < nodes.length)
    throw new SavedClusterError('is damaged: it has two nodes of one name')
}

function checked(header: SavedHeader): CheckedHeader {
  const dialect = dialectNamed(header.dialect)
  if (dialect === undefined)
    throw new SavedClusterError(`is of an unknown dialect, "${header.dialect}"`)
  const nodes = (header.nodes ?? []).map(({ name, simulated, flags }) => ({
    name,
    ...(simulated === undefined ? {} : { simulated }),
    ...(flags === undefined ? {} : { flags }),
  }))
  checkNodes(nodes)
  return { ...header, dialect: dialect.name, nodes }
}

/** Rejects with a ClusterError that names the file. The keys are checked by the API server that reads them. */
export async function readSavedHeader(path: string): Promise<CheckedHeader> {
  try {
    const saved = await explained(path, () => openSavedFile(path))
    await saved[Symbol.asyncDispose]()
    return checked(saved.header)
  } catch (error) {
    if (!(error instanceof SavedClusterError)) throw error
    throw new ClusterError('failed', `${path} ${error.message}`, {
      hint: 'save a cluster with: skiff save NAME FILE',
      cause: error,
    })
  }
}
