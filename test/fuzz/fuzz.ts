/** Sends random requests to a server, one after the other, and collects what it should not have answered. */
import http2, { type ClientHttp2Session } from 'node:http2'
import type { Dialect } from '../../components/api/dialect.ts'
import { apiGroup } from '../../components/api/dialect.ts'
import { resourcesOf } from '../../components/api/resources.ts'
import { resourcePath } from '../../components/machinery/objects/resource.ts'
import { admin, type ApiClient } from '../support/api-client.ts'
import { samples } from '../support/one-of-each.ts'
import { exchange, faultOf } from './exchange.ts'
import { oddRequest, type OddRequest, type Target, type World } from './odd-requests.ts'
import { Random } from './random.ts'

export interface FuzzServer extends Pick<ApiClient, 'request' | 'credential'> {
  readonly port: number
  readonly authorityPem: string
  readonly dialect: Dialect
  /** Processor time that the server's process has taken so far, in milliseconds. */
  processorMs(): number
}

export interface Finding {
  /** FUZZ_SEED and FUZZ_FROM run it again. */
  readonly seed: number
  readonly number: number
  readonly fault: string
  readonly request: OddRequest
  readonly answer: string
}

/** After so many requests the objects that were changed or deleted are made anew, and the connection too. */
const roundLength = 200
/** A request that costs more processor time is a finding: what it holds is small. */
const costlyMs = 2000

function connect(server: FuzzServer): ClientHttp2Session {
  const shown = server.credential(admin)
  const session = http2.connect(`https://127.0.0.1:${server.port}`, {
    ca: server.authorityPem,
    ...(shown === undefined ? {} : { cert: shown.certificatePem, key: shown.privateKeyPem }),
  })
  session.on('error', () => {
    // Told by the requests that fail.
  })
  return session
}

/** One object of each kind, as it is now; made if it is not there. */
async function targetsOf(server: FuzzServer, namespace: string): Promise<Target[]> {
  const { dialect } = server
  const group = (stem: string): string => apiGroup(dialect, stem)
  const targets: Target[] = []
  for (const sample of samples({ group }, namespace, 'sample')) {
    const resource = resourcesOf(dialect).all.find(
      (one) => resourcePath(one, one.namespaced ? { namespace } : {}) === sample.path,
    )
    if (resource === undefined) continue
    await server.request('POST', sample.path, { body: sample.body })
    const { status, body } = await server.request(
      'GET',
      `${sample.path}/${sample.body.metadata.name}`,
    )
    const object = (status === 200 ? body : sample.body) as Target['object']
    targets.push({ resource, path: sample.path, object })
  }
  return targets
}

async function worldOf(server: FuzzServer, namespace: string): Promise<World> {
  // Without it, each Pod waits for it to come.
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`
  await server.request('POST', accounts, { body: { metadata: { name: 'default' } } })
  const targets = await targetsOf(server, namespace)
  const list = await server.request('GET', `${targets[0]?.path}?limit=1`)
  const { resourceVersion = '1', continue: token = 'none' } = list.body.metadata as Record<
    string,
    string
  >
  const { apiDomain, protobufMediaType } = server.dialect
  return {
    targets,
    apiDomain,
    protobuf: protobufMediaType,
    tokens: [token],
    versions: [resourceVersion, '1', '0', `${resourceVersion}000`],
  }
}

/** Runs the requests numbered `from` up to `to` of that seed. Stops at the first `most` findings. */
export async function fuzz(
  server: FuzzServer,
  options: { seed: number; from: number; to: number; most?: number },
): Promise<Finding[]> {
  const { seed, from, to, most = 10 } = options
  const namespace = `fuzz-${seed}`
  await server.request('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } })
  const findings: Finding[] = []
  let world: World | undefined
  let session: ClientHttp2Session | undefined
  for (let number = from; number < to && findings.length < most; number += 1) {
    if (world === undefined || session === undefined || number % roundLength === 0) {
      session?.destroy()
      session = connect(server)
      world = await worldOf(server, namespace)
    }
    const request = oddRequest(new Random(seed * 1_000_003 + number), world)
    let fault: string | undefined
    let told = ''
    try {
      const startMs = server.processorMs()
      const answer = await exchange(session, request)
      const costMs = server.processorMs() - startMs
      told = `${answer.status} ${answer.text}`
      fault = faultOf(request, answer)
      if (fault === undefined && costMs > costlyMs) fault = `${costMs} ms of processor time`
    } catch (error) {
      fault = error instanceof Error ? error.message : String(error)
      session.destroy()
      session = undefined
    }
    if (fault !== undefined) findings.push({ seed, number, fault, request, answer: told })
  }
  session?.destroy()
  return findings
}

/** A finding as a person reads it. */
export function describeFinding({ seed, number, fault, request, answer }: Finding): string {
  const { method, path, headers, body } = request
  return [
    `FUZZ_SEED=${seed} FUZZ_FROM=${number}: ${fault}`,
    `${method} ${path.slice(0, 2000)}`,
    JSON.stringify(headers),
    body?.toString().slice(0, 4000) ?? '',
    `-> ${answer.slice(0, 2000)}`,
  ].join('\n')
}
