/** readHistory: the versions of an object that the server's history still holds. */
import type { KubeList, KubeObject } from '../../../../../components/machinery/objects/object.ts'
import { ApiError, read, send } from '../../../app/api.ts'
import { apiPath, type KindPlace, type ObjectName } from '../../../app/object-place.ts'
import { findOldest } from './find-oldest.ts'

/** More are not shown; the newest count. */
const mostVersions = 300
/** Until the watch ends when nothing says that it has reached the present. */
const watchSeconds = 2

export interface History {
  /** The oldest first. */
  readonly versions: readonly KubeObject[]
  /** The server shows nothing before. */
  readonly oldest: number
}

interface Place {
  readonly kind: KindPlace
  readonly object: ObjectName
  readonly signal: AbortSignal
}

/** The object at exactly that revision: null when it did not exist, undefined when the server has forgotten. */
async function readAt(
  { kind, object, signal }: Place,
  revision: number,
): Promise<KubeObject | null | undefined> {
  const query = {
    fieldSelector: `metadata.name=${object.name}`,
    resourceVersion: revision,
    resourceVersionMatch: 'Exact',
  }
  try {
    const path = apiPath(kind, { namespace: object.namespace })
    const { items } = await read<KubeList>(path, { query, signal })
    return items[0] ?? null
  } catch (error) {
    if (error instanceof ApiError && [400, 410, 504].includes(error.code)) return undefined
    throw error
  }
}

/** The lines of a watch, until it ends or a line is the last one that is wanted. */
async function* watchLines(answer: Response): AsyncGenerator<{ type: string; object: KubeObject }> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let begun = ''
  try {
    while (reader !== undefined) {
      const { done, value } = await reader.read()
      if (done) return
      const lines = (begun + value).split('\n')
      begun = lines.pop() ?? ''
      for (const line of lines)
        if (line !== '') yield JSON.parse(line) as { type: string; object: KubeObject }
    }
  } finally {
    await reader?.cancel()
  }
}

/** The cluster's newest revision; NaN for servers whose revisions are no numbers. */
async function newestRevision({ kind, object, signal }: Place): Promise<number> {
  const path = apiPath(kind, { namespace: object.namespace })
  const query = { fieldSelector: `metadata.name=${object.name}` }
  const { metadata } = await read<KubeList>(path, { query, signal })
  return Number(metadata.resourceVersion)
}

/** What the watch says of the object after a revision, up to the version that is known. */
async function versionsAfter(
  { kind, object, signal }: Place,
  revision: number,
  current: KubeObject,
): Promise<KubeObject[]> {
  const query = {
    watch: true,
    fieldSelector: `metadata.name=${object.name}`,
    resourceVersion: revision,
    timeoutSeconds: watchSeconds,
  }
  const versions: KubeObject[] = []
  const path = apiPath(kind, { namespace: object.namespace })
  const answer = await send(path, { query, signal })
  for await (const { type, object: version } of watchLines(answer)) {
    if (type === 'ERROR') break
    if (type === 'DELETED') continue
    versions.push(version)
    if (version.metadata.resourceVersion === current.metadata.resourceVersion) break
  }
  return versions
}

/** `current`: the newest version that is known. Throws ApiErrors. */
export async function readHistory(place: Place, current: KubeObject): Promise<History> {
  const newest = await newestRevision(place)
  if (!Number.isSafeInteger(newest)) return { versions: [current], oldest: newest }
  const oldest = await findOldest(newest, async (at) => (await readAt(place, at)) !== undefined)
  const first = await readAt(place, oldest)
  const versions: KubeObject[] = first ? [first] : []
  // A watch whose object does not change says nothing.
  if (first?.metadata.resourceVersion !== current.metadata.resourceVersion)
    versions.push(...(await versionsAfter(place, oldest, current)))
  return { versions: versions.slice(-mostVersions), oldest }
}
