/** What users with a right to pods reach through the API server of a real cluster: proxies to pods and services, plain WebSockets. */
import { readFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { beforeAll, describe, expect } from 'vitest'
import WebSocket from 'ws'
import { parseKubeconfig } from '../../components/client/kubeconfig.ts'
import { kubectlFor, requireKubectl } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import type { PlacedCluster } from './place.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()
const at = '/api/v1/namespaces/proxies'

const pod = (name: string, more: object): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name }, annotations: { 'skiff.dev/listen': '80' } },
    spec: { containers: [{ name: 'main', image: 'example.com/app:1' }], ...more },
  })

describe('through the API server', () => {
  let cluster: PlacedCluster
  let kubectl: Kubectl
  beforeAll(async () => {
    cluster = await sharedCluster()
    kubectl = await kubectlFor(cluster, { path, namespace: 'proxies' })
    await kubectl.withInput(pod('web', {})).ok`create -f -`
    await kubectl.withInput(pod('host', { hostNetwork: true })).ok`create -f -`
    await kubectl.ok`expose pod web --port=8000 --target-port=80`
    await kubectl.ok`wait --for=condition=Ready pod/web pod/host --timeout=30s`
  })

  test('a pod and a service are reached through the node agent', async () => {
    const ask = (what: string): Promise<string> => kubectl.ok`get --raw ${at}/${what}`
    expect(await ask('pods/web:80/proxy/one?x=1')).toBe('proxies/web on port 80: GET /one?x=1')
    expect(await ask('pods/web/proxy/')).toBe('proxies/web on port 80: GET /')
    await kubectl.ok`wait --for=jsonpath={.subsets} endpoints/web --timeout=30s`
    expect(await ask('services/web:8000/proxy/two')).toBe('proxies/web on port 80: GET /two')
    const refused = await kubectl.fails`get --raw ${at}/pods/web:81/proxy/`
    expect(refused.stderr).toMatch(/error trying to reach service: .*connection refused/)
  })

  test("a listener on the server's loopback is not reached", async () => {
    let connections = 0
    const listener = createServer((socket) => {
      connections += 1
      socket.destroy()
    })
    await new Promise<void>((resolve) => void listener.listen(0, '127.0.0.1', resolve))
    const { port } = listener.address() as AddressInfo
    try {
      expect(await kubectl.ok`get pod host -o jsonpath={.status.podIP}`).toBe('127.0.0.1')
      const refused = await kubectl.fails`get --raw ${at}/pods/host:${port}/proxy/`
      expect(refused.stderr).toContain('address not allowed')
      const posted = await kubectl.withInput('{}')
        .fails`create --raw ${at}/pods/host:${port}/proxy/ -f -`
      expect(posted.stderr).toContain('address not allowed')
      const node = await kubectl.ok`get pod host -o jsonpath={.spec.nodeName}`
      const other = await kubectl.fails`get --raw /api/v1/nodes/${node}:${port}/proxy/`
      expect(other.stderr).toContain('address not allowed')
      expect(connections).toBe(0)
    } finally {
      await new Promise((resolve) => listener.close(resolve))
    }
  })

  test.each([
    ['channel.k8s.io', ['channel.k8s.io']],
    ['', []],
  ])(
    'a browser runs a command over a WebSocket with the protocol "%s"',
    async (protocol, offered) => {
      const config = await parseKubeconfig(readFileSync(cluster.kubeconfig, 'utf8'))
      const [to] = config.clusters
      const [as] = config.users
      const pem = (base64 = ''): Buffer => Buffer.from(base64, 'base64')
      const server = (to?.cluster.server ?? '').replace('https:', 'wss:')
      const ask = `${at}/pods/web/exec?command=echo&command=hello&stdout=true`
      const ws = new WebSocket(`${server}${ask}`, offered, {
        ca: pem(to?.cluster['certificate-authority-data']),
        cert: pem(as?.user['client-certificate-data']),
        key: pem(as?.user['client-key-data']),
      })
      let said = ''
      ws.on('message', (message: Buffer) => (said += message.toString('latin1')))
      await new Promise((resolve, reject) => void ws.once('close', resolve).once('error', reject))
      expect(ws.protocol).toBe(protocol)
      expect(said).toBe('\u0001\u0001hello\n')
    },
  )
})
