/** Prometheus' service discovery, as VictoriaMetrics has it: what it finds is what there is, through changes and kills. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { startChildApiServer, type ChildApiServer } from '../support/child-api-server.ts'
import { eventually } from '../support/eventually.ts'
import { ownPort } from '../support/own-port.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import {
  requireVictoriaMetrics,
  startVictoriaMetrics,
  type VictoriaMetrics,
} from '../support/victoria-metrics.ts'

const test = requireVictoriaMetrics()
const namespace = 'shop'
const core = `/api/v1/namespaces/${namespace}`
const rbac = '/apis/rbac.authorization.k8s.io/v1'

type Labels = Readonly<Record<string, string>>
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into objects of every kind
type Item = any

interface Role {
  readonly path: string
  /** What Prometheus should make of an object, one text for each target. */
  readonly wanted: (item: Item) => readonly string[]
  /** The same text, of a target's labels. */
  readonly found: (labels: Labels) => string
}

const meta = (labels: Labels, ...names: string[]): string =>
  names.map((name) => labels[`__meta_kubernetes_${name}`]).join(' ')
const nameOf = ({ metadata }: Item): string => `${metadata.namespace} ${metadata.name}`

const roles: Readonly<Record<string, Role>> = {
  node: {
    path: '/api/v1/nodes',
    wanted: ({ metadata }) => [`${metadata.name} ${metadata.labels.zone}`],
    found: (labels) => meta(labels, 'node_name', 'node_label_zone'),
  },
  pod: {
    path: '/api/v1/pods',
    // A pod has no target until it has an address.
    wanted: ({ metadata, spec, status }) =>
      status.podIP === undefined
        ? []
        : [
            `${metadata.uid} ${status.podIP} ${status.phase} ${spec.nodeName} ${metadata.labels.app}`,
          ],
    found: (labels) =>
      meta(labels, 'pod_uid', 'pod_ip', 'pod_phase', 'pod_node_name', 'pod_label_app'),
  },
  service: {
    path: '/api/v1/services',
    wanted: (item) =>
      item.spec.ports.map(({ port }: Item) => `${nameOf(item)} ${item.spec.clusterIP} ${port}`),
    found: (labels) =>
      `${meta(labels, 'namespace', 'service_name', 'service_cluster_ip')} ${labels['__address__']?.split(':')[1]}`,
  },
  endpoints: {
    path: '/api/v1/endpoints',
    wanted: (item) =>
      item.subsets.flatMap(({ addresses = [], notReadyAddresses = [], ports }: Item) =>
        [addresses, notReadyAddresses].flatMap((list, at) =>
          list.map(({ ip }: Item) => `${nameOf(item)} ${ip}:${ports[0].port} ${at === 0}`),
        ),
      ),
    found: (labels) =>
      `${meta(labels, 'namespace', 'endpoints_name')} ${labels['__address__']} ${meta(labels, 'endpoint_ready')}`,
  },
  endpointslice: {
    path: '/apis/discovery.k8s.io/v1/endpointslices',
    wanted: (item) =>
      item.endpoints.flatMap(({ addresses, conditions }: Item) =>
        addresses.map(
          (ip: string) => `${nameOf(item)} ${ip}:${item.ports[0].port} ${conditions.ready}`,
        ),
      ),
    found: (labels) =>
      `${meta(labels, 'namespace', 'endpointslice_name')} ${labels['__address__']} ${meta(labels, 'endpointslice_endpoint_conditions_ready')}`,
  },
  ingress: {
    path: '/apis/networking.k8s.io/v1/ingresses',
    wanted: (item) =>
      item.spec.rules.flatMap(({ host, http }: Item) =>
        http.paths.map(({ path }: Item) => `${nameOf(item)} ${host}${path}`),
      ),
    found: (labels) =>
      `${meta(labels, 'namespace', 'ingress_name')} ${meta(labels, 'ingress_host')}${meta(labels, 'ingress_path')}`,
  },
}

describe('service discovery', () => {
  let server: ChildApiServer
  let metrics: VictoriaMetrics
  const ask = async (method: string, path: string, body?: unknown): Promise<Item> => {
    const headers: Record<string, string> =
      method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}
    const reply = await server.request(method, path, { body, headers })
    if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
    return reply.body
  }
  /** Lets the service account read these resources everywhere. */
  const allow = async (name: string, rule: Readonly<Record<string, string[]>>): Promise<void> => {
    await ask('POST', `${rbac}/clusterroles`, { metadata: { name }, rules: [rule] })
    await ask('POST', `${rbac}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name: 'discoverer', namespace }],
    })
  }
  const makePod = async (name: string, ip?: string): Promise<void> => {
    await ask('POST', `${core}/pods`, {
      metadata: { name, labels: { app: name } },
      spec: {
        nodeName: 'n1',
        containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }] }],
      },
    })
    if (ip === undefined) return
    const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }] }
    await ask('PATCH', `${core}/pods/${name}/status`, { status })
  }
  const serve = async (
    method: 'POST' | 'PUT',
    ready: string[],
    notReady: string[],
  ): Promise<void> => {
    const at = method === 'PUT' ? '/web' : ''
    const addresses = (ips: string[]): Item => ips.map((ip) => ({ ip }))
    await ask(method, `${core}/endpoints${at}`, {
      metadata: { name: 'web' },
      subsets: [
        {
          ...(ready.length > 0 ? { addresses: addresses(ready) } : {}),
          ...(notReady.length > 0 ? { notReadyAddresses: addresses(notReady) } : {}),
          ports: [{ port: 80 }],
        },
      ],
    })
    await ask(method, `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices${at}`, {
      metadata: { name: 'web', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      endpoints: [...ready, ...notReady].map((ip) => ({
        addresses: [ip],
        conditions: { ready: ready.includes(ip) },
      })),
      ports: [{ port: 80 }],
    })
  }

  /** Waits until each role's targets are those that its objects call for. */
  const expectTruth = async (): Promise<void> => {
    const truth: Record<string, string[]> = {}
    for (const [role, { path, wanted }] of Object.entries(roles)) {
      const { items } = await ask('GET', path)
      truth[role] = (items as Item[]).flatMap(wanted).toSorted()
    }
    await eventually(async () => {
      const targets = await metrics.targets()
      for (const [role, { found }] of Object.entries(roles)) {
        const labels = targets.map(({ discoveredLabels }) => discoveredLabels)
        const seen = labels.filter(({ job }) => job === role).map(found)
        expect(seen.toSorted(), role).toEqual(truth[role])
      }
    })
  }

  beforeAll(async () => {
    server = await startChildApiServer({ flags: [`--secure-port=${ownPort()}`] })
    await ask('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
    for (const name of ['default', 'discoverer']) {
      await ask('POST', `${core}/serviceaccounts`, { metadata: { name } })
    }
    await allow('nodes-and-pods', {
      apiGroups: [''],
      resources: ['nodes', 'pods', 'services', 'endpoints'],
      verbs: ['list', 'watch'],
    })
    await allow('slices', {
      apiGroups: ['discovery.k8s.io'],
      resources: ['endpointslices'],
      verbs: ['list', 'watch'],
    })
    await ask('POST', `${rbac}/clusterrolebindings`, {
      metadata: { name: 'monitoring' },
      roleRef: {
        apiGroup: 'rbac.authorization.k8s.io',
        kind: 'ClusterRole',
        name: 'system:monitoring',
      },
      subjects: [{ kind: 'ServiceAccount', name: 'discoverer', namespace }],
    })
    for (const name of ['n1', 'n2']) {
      const labels = { zone: `zone-of-${name}` }
      const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }]
      await ask('POST', '/api/v1/nodes', { metadata: { name, labels } })
      await ask('PATCH', `/api/v1/nodes/${name}/status`, { status: { addresses } })
    }
    await makePod('web-1', '192.0.2.1')
    await makePod('waiting')
    await ask('POST', `${core}/services`, {
      metadata: { name: 'web' },
      spec: {
        ports: [
          { name: 'a', port: 80 },
          { name: 'b', port: 81 },
        ],
      },
    })
    await serve('POST', ['192.0.2.1'], [])
    await ask('POST', `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`, {
      metadata: { name: 'web' },
      spec: {
        rules: ['/a', '/b'].map((path) => ({
          host: 'shop.example',
          http: {
            paths: [
              {
                path,
                pathType: 'Prefix',
                backend: { service: { name: 'web', port: { number: 80 } } },
              },
            ],
          },
        })),
      },
    })
  })
  afterAll(async () => {
    await metrics?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  const start = async (): Promise<void> => {
    const folder = temporaryFolder('victoria-metrics')
    writeFileSync(join(folder, 'ca.crt'), server.authorityPem)
    const tokens = `${core}/serviceaccounts/discoverer/token`
    const { status } = await ask('POST', tokens, { spec: { expirationSeconds: 3600 } })
    writeFileSync(join(folder, 'token'), status.token as string, { mode: 0o600 })
    const access = { bearer_token_file: 'token', tls_config: { ca_file: 'ca.crt' } }
    const address = `127.0.0.1:${server.port}`
    metrics = await startVictoriaMetrics({
      folder,
      scrapeConfigs: [
        ...Object.keys(roles).map((role) => ({
          job_name: role,
          // What it finds is not to be called.
          scrape_interval: '24h',
          kubernetes_sd_configs: [{ role, api_server: `https://${address}`, ...access }],
          // Targets of the same labels would count as one.
          relabel_configs: [
            { regex: '__meta_kubernetes_(.+)', action: 'labelmap' },
            { source_labels: ['__address__'], target_label: 'address' },
            { target_label: '__address__', replacement: '127.0.0.1:9' },
          ],
        })),
        ...['/metrics', '/metrics/slis'].map((path) => ({
          job_name: path,
          scheme: 'https',
          metrics_path: path,
          scrape_interval: '1s',
          static_configs: [{ targets: [address] }],
          ...access,
        })),
      ],
      // Watches end, and are to be resumed, every few seconds.
      flags: ['-promscrape.kubernetes.apiServerTimeout=3s'],
    })
  }

  test('finds what it may see, and the rest as soon as it may', async () => {
    await start()
    await eventually(() => {
      const forbidden = metrics.complaints.filter((line) => line.includes('ingresses'))
      expect(forbidden[0]).toContain('cannot list resource')
    })
    await allow('ingresses', {
      apiGroups: ['networking.k8s.io'],
      resources: ['ingresses'],
      verbs: ['list', 'watch'],
    })
    await expectTruth()
  })

  test('follows changes through the ends of its watches', async () => {
    for (const [at, ready] of [true, false].entries()) {
      await makePod(`more-${at}`, `192.0.2.1${at}`)
      await serve('PUT', ready ? ['192.0.2.1', '192.0.2.10'] : [], ready ? [] : ['192.0.2.1'])
      await expectTruth()
    }
    await ask('DELETE', `${core}/pods/more-0?gracePeriodSeconds=0`)
    await ask('PATCH', '/api/v1/nodes/n2', { metadata: { labels: { zone: 'elsewhere' } } })
    await expectTruth()
  })

  test('is right again after the server was killed', async () => {
    await makePod('before', '192.0.2.20')
    await server.kill()
    await ask('DELETE', `${core}/pods/more-1?gracePeriodSeconds=0`)
    await makePod('after', '192.0.2.21')
    await expectTruth()
  })

  test('scrapes the metrics of the server, and has had nothing odd to say', async () => {
    await eventually(async () => {
      const scraped = (await metrics.targets()).filter(({ scrapeUrl }) =>
        scrapeUrl.startsWith('https'),
      )
      expect(scraped.map(({ health, lastError }) => [health, lastError])).toEqual([
        ['up', ''],
        ['up', ''],
      ])
      expect(
        Math.max(...scraped.map(({ lastSamplesScraped }) => lastSamplesScraped)),
      ).toBeGreaterThan(100)
    })
    // Refused at first, and cut off by the kill.
    const known =
      /cannot list resource|cannot scrape|connection (refused|reset)|unexpected EOF|the server closed/
    expect(metrics.complaints.filter((line) => !known.test(line))).toEqual([])
  })
})
