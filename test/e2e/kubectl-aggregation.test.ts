/** kubectl and aggregated APIs: what an operator sees of an extension API server. */
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { startExtensionServer, type ExtensionServer } from '../support/extension-server.ts'
import { builtOnce } from './built.ts'
import { kubectlFor, requireKubectl, tableOf, type Kubectl } from './kubectl.ts'
import { createPlace } from './place.ts'

const { path, test } = requireKubectl()

const group = 'flavors.e2e.example.com'
const namespace = 'aggregation'
const apiService = `v1.${group}`
const withinMs = 120_000

// What does not answer disturbs the discovery of everybody, so this cluster is not shared.
const place = createPlace()

describe('an aggregated API', () => {
  let kubectl: Kubectl
  let extension: ExtensionServer

  beforeAll(async () => {
    await builtOnce()
    await place.up('aggregation', ['--nodes', '0'])
    kubectl = await kubectlFor(place.cluster('aggregation'), { path, namespace })
    extension = await startExtensionServer({ group, namespace })
    await kubectl.ok`create service externalname extension --external-name=localhost`
    const manifest = {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: apiService },
      spec: {
        group,
        version: 'v1',
        service: { namespace, name: 'extension', port: extension.port },
        caBundle: extension.caBundle,
        groupPriorityMinimum: 100,
        versionPriority: 10,
      },
    }
    await kubectl.withInput(JSON.stringify(manifest)).ok`create -f -`
    await eventually(
      () => kubectl.ok`wait --for=condition=Available apiservice/${apiService} --timeout=60s`,
    )
  })

  afterAll(async () => {
    await place[Symbol.asyncDispose]()
    await extension[Symbol.asyncDispose]()
  })

  test('is listed with its service', async () => {
    const [row] = tableOf(await kubectl.ok`get apiservice ${apiService}`)
    expect(row).toMatchObject({
      NAME: apiService,
      SERVICE: `${namespace}/extension`,
      AVAILABLE: 'True',
    })
    const all = tableOf(await kubectl.ok`get apiservices`)
    expect(all.find(({ NAME }) => NAME === 'v1.apps')).toMatchObject({
      SERVICE: 'Local',
      AVAILABLE: 'True',
    })
  })

  test('has its kinds among all others, read, listed and explained like them', async () => {
    await eventually(async () => {
      const kinds = await kubectl.ok`api-resources --api-group=${group} --no-headers`
      expect(kinds.split(/\s+/)).toEqual(['flavors', 'fl', `${group}/v1`, 'true', 'Flavor'])
    }, withinMs)
    expect(await kubectl.ok`api-versions`).toContain(`${group}/v1`)
    expect(await kubectl.ok`get fl -o name`).toBe(`flavor.${group}/mint\nflavor.${group}/vanilla`)
    const mint = await kubectl.json`get flavor mint -o json`
    expect(mint).toMatchObject({ kind: 'Flavor', metadata: { name: 'mint', namespace } })
    const raw = await kubectl.ok`get --raw /apis/${group}/v1/namespaces/${namespace}/flavors/mint`
    expect(JSON.parse(raw)).toEqual(mint)
    await eventually(async () => {
      expect(await kubectl.ok`explain flavor.spec`).toContain('How it tastes.')
    }, withinMs)
  }, 170_000)

  test('is asked with the front-proxy certificate of the cluster, for the administrator', async () => {
    await kubectl.ok`get flavors`
    const { caller, headers } = extension.asked.at(-1) ?? {}
    expect(caller).toBe('front-proxy-client')
    expect(headers?.['x-remote-user']).toBe('kubernetes-admin')
    const data =
      await kubectl.json`get configmap extension-apiserver-authentication -n kube-system -o jsonpath={.data}`
    expect(JSON.parse(data['requestheader-allowed-names'])).toEqual(['front-proxy-client'])
    expect(JSON.parse(data['requestheader-username-headers'])).toEqual(['X-Remote-User'])
    expect(data['requestheader-client-ca-file']).toContain('BEGIN CERTIFICATE')
  })

  test('that does not answer is told of, and disturbs nothing else', async () => {
    extension.handle = (_, response) => {
      response.writeHead(500).end()
      return true
    }
    await kubectl.ok`annotate apiservice ${apiService} looked=again`
    await kubectl.ok`wait --for=condition=Available=False apiservice/${apiService} --timeout=60s`
    const failed = await kubectl.fails`get --raw /apis/${group}/v1`
    expect(failed.stderr).toContain('the server is currently unable to handle the request')
    await kubectl.ok`get pods`
    extension.handle = () => false
    await kubectl.ok`annotate apiservice ${apiService} looked=anew --overwrite`
    await eventually(
      () => kubectl.ok`wait --for=condition=Available apiservice/${apiService} --timeout=60s`,
    )
  })
})
