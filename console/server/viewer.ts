/** Viewer: who looks through the console, and what that viewer may see of the cluster. */
import { apiGroup } from '../../components/api/dialect.ts'
import type { Client } from '../../components/client/client.ts'
import { messageOf } from '../../components/component-base/log.ts'
import { isStatusError } from '../../components/machinery/objects/status-error.ts'
import type { ClusterInfo } from '../protocol/live.ts'
import { journalPath } from './live/follow-journal.ts'

interface UserInfo {
  readonly username?: string
  readonly groups?: readonly string[]
}

/** The viewer as the server knows it (KEP-3325). Servers before 1.28 have no such review. */
async function whoAmI({ rest, dialect }: Client): Promise<UserInfo> {
  const group = apiGroup(dialect, 'authentication')
  const body = { apiVersion: `${group}/v1`, kind: 'SelfSubjectReview' }
  const path = `/apis/${group}/v1/selfsubjectreviews`
  try {
    const review = await rest.json({ method: 'POST', path, body })
    return (review as { status?: { userInfo?: UserInfo } }).status?.userInfo ?? {}
  } catch (error) {
    if (isStatusError(error) && error.code === 404) return {}
    throw error
  }
}

/** Why the viewer has no journal; undefined when there is one. */
async function missingJournal({ rest }: Client): Promise<string | undefined> {
  try {
    await rest.json({ method: 'GET', path: `${journalPath}?limit=1` })
    return undefined
  } catch (error) {
    if (!isStatusError(error)) throw error
    if (error.code === 404) return 'this server keeps no request journal'
    if (error.code === 403) return `you may not read the request journal: ${error.message}`
    return messageOf(error)
  }
}

/** Asks the server. Throws StatusErrors and ConnectionErrors. */
export async function readClusterInfo(
  client: Client,
  { name, hasControl }: { readonly name: string; readonly hasControl: boolean },
): Promise<ClusterInfo> {
  const [version, user, noJournal] = await Promise.all([
    client.rest.json({ method: 'GET', path: '/version' }),
    whoAmI(client),
    missingJournal(client),
  ])
  const noControl =
    'the supervisor is not on this machine, or the console was opened with a kubeconfig or --as'
  return {
    name,
    server: client.rest.server,
    dialect: client.dialect.name,
    version: (version as { gitVersion?: string }).gitVersion ?? '',
    user: user.username ?? '',
    groups: user.groups ?? [],
    offers: { journal: noJournal === undefined, control: hasControl },
    missing: {
      ...(noJournal === undefined ? {} : { journal: noJournal }),
      ...(hasControl ? {} : { control: noControl }),
    },
  }
}
