/** Blank image: makes the text of a base image (base-image.ts) from a cluster that runs. */
import type { KeyValue } from '../components/store/store.ts'
import { blanks } from '../components/api-server/saving/base-image.ts'
import type { BaseImageKind } from './base-image.ts'
import { EmbeddedCluster } from './embedded-cluster.ts'

/** No object names a time of this day for a reason of its own. */
const startAtMs = Date.UTC(2001, 8, 9)
const day = '2001-09-09'
const uidPattern = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/

/** `/registry/configmaps/...`. The key of continue tokens is no object, and its bytes can be any. */
const objectKey = /^\/registry\/[^/]+\/./

interface Owned {
  readonly port: number
  readonly authority: string
  readonly frontProxyAuthority: string
}

/** The object with blanks. Throws an Error for one that has more of its cluster's own than the blanks can stand for. */
function blankObject({ key, value }: KeyValue, owned: Owned): string {
  const object = value.toString().trimEnd()
  const { metadata } = JSON.parse(object) as { metadata: { uid: string } }
  const insideJson = (pem: string): string => JSON.stringify(pem).slice(1, -1)
  if (/[@\n\t]/.test(object)) throw new Error(`${key} has a character that blanks are made of`)
  const blank = object
    .replace(metadata.uid, blanks.uid)
    .replaceAll(new RegExp(`${day}T[\\d:]{8}Z`, 'g'), blanks.time)
    .replaceAll(`"${day}"`, `"${blanks.date}"`)
    .replaceAll(insideJson(owned.authority), blanks.authority)
    .replaceAll(insideJson(owned.frontProxyAuthority), blanks.frontProxyAuthority)
  for (const left of [uidPattern, day, 'CERTIFICATE'])
    if (blank.match(left) !== null) throw new Error(`${key} has a ${left} of its own`)
  return blank
}

/** Starts a cluster without nodes and gives what it holds. The same text each time. */
export async function blankImage(kind: BaseImageKind): Promise<string> {
  const cluster = await EmbeddedCluster.start({
    nodes: [],
    components: kind === 'with-controllers' ? ['controller-manager', 'scheduler'] : [],
    extraFlags: {},
    port: 0,
    seed: 1,
    startAtMs,
    initialState: undefined,
  })
  try {
    // What follows from the start, at once and within a minute.
    await cluster.clock.settled()
    await cluster.clock.advance(60_000)
    const { kvs } = await cluster.image()
    const owned = { port: cluster.port, ...cluster.authorities }
    // A cluster writes objects with its port itself.
    const isCommon = ({ key, value }: KeyValue): boolean =>
      objectKey.test(key) && !value.includes(`:${owned.port}`)
    const lines = kvs.filter(isCommon).map((kv) => `${kv.key}\t${blankObject(kv, owned)}\n`)
    return lines.join('')
  } finally {
    await cluster.close()
  }
}
