/** EtcdHealth: what the etcd of envtest answers at /health, as etcd does, and in addition where its API server keeps its data. */
import { request } from '../components/component-base/node-http.ts'

export interface DataPlace {
  /** Absolute. */
  readonly dataDir: string
  /** False: writes need not wait for the disk. */
  readonly isSynced: boolean
}

/** The body of the answer. Upstream: etcd server/etcdserver/api/etcdhttp/health.go. */
export function healthBody(place: DataPlace): string {
  return `${JSON.stringify({ health: 'true', reason: '', ...place })}\n`
}

function placeIn(body: string): DataPlace | undefined {
  try {
    const { dataDir, isSynced } = JSON.parse(body) as Partial<DataPlace>
    if (typeof dataDir === 'string' && typeof isSynced === 'boolean') return { dataDir, isSynced }
  } catch {
    // Another server's answer.
  }
  return undefined
}

/** Undefined when another server answers, such as a real etcd. Rejects when none does. */
export async function askForPlace(url: string): Promise<DataPlace | undefined> {
  return await new Promise((resolve, reject) => {
    const asked = request(new URL('/health', url), { timeout: 2000 }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text: string) => (body += text))
      answer.on('error', reject).on('end', () => resolve(placeIn(body)))
    })
    asked.on('timeout', () => asked.destroy(new Error('no answer within 2 s')))
    asked.on('error', reject).end()
  })
}
