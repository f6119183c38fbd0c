/** What operator authors do first: define a kind with kubectl, use it with kubectl and with @kubernetes/client-node. */
import {
  ApiextensionsV1Api,
  CustomObjectsApi,
  KubeConfig,
  makeInformer,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node'
import type { KubernetesListObject, KubernetesObject } from '@kubernetes/client-node'
import { beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { kubectlFor, requireKubectl, tableOf } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import type { PlacedCluster } from './place.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()

const group = 'stable.example.com'
const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crontabs.${group}}
spec:
  group: ${group}
  scope: Namespaced
  names: {plural: crontabs, singular: crontab, kind: CronTab, shortNames: [ct], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
    additionalPrinterColumns:
    - {name: Spec, type: string, jsonPath: .spec.cronSpec}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        description: A table of jobs.
        type: object
        properties:
          spec:
            type: object
            required: [cronSpec]
            properties:
              cronSpec: {type: string, pattern: '^(\\S+ ){4}\\S+$', description: When it runs.}
              image: {type: string}
              replicas: {type: integer, minimum: 0, maximum: 10, default: 1}
          status:
            type: object
            properties: {replicas: {type: integer}}
`

function cronTab(name: string, spec: string): string {
  return `apiVersion: ${group}/v1\nkind: CronTab\nmetadata: {name: ${name}}\nspec: ${spec}\n`
}

describe('a custom kind', () => {
  let cluster: PlacedCluster
  let kubectl: Kubectl

  beforeAll(async () => {
    cluster = await sharedCluster()
    kubectl = await kubectlFor(cluster, { path, namespace: 'customs' })
    await kubectl.withInput(definition).ok`apply -f -`
    // As upstream a definition has no conditions at first, which this command takes for an error.
    await eventually(
      () => kubectl.ok`wait --for=condition=Established --timeout=60s crd/crontabs.${group}`,
    )
  })

  test('kubectl explains it and finds it by all its names', async () => {
    expect(await kubectl.ok`explain crontab.spec.cronSpec`).toContain('When it runs.')
    expect(await kubectl.ok`explain ct`).toContain('A table of jobs.')
    const listed = await kubectl.ok`api-resources --api-group=${group}`
    expect(tableOf(listed)).toEqual([
      {
        NAME: 'crontabs',
        SHORTNAMES: 'ct',
        APIVERSION: `${group}/v1`,
        NAMESPACED: 'true',
        KIND: 'CronTab',
      },
    ])
  })

  test('kubectl applies, shows, patches, scales and deletes instances', async () => {
    const input = kubectl.withInput(cronTab('mine', `{cronSpec: '* * * * 5', image: a}`))
    expect(await input.ok`apply -f -`).toBe(`crontab.${group}/mine created`)
    expect(await input.ok`apply -f -`).toBe(`crontab.${group}/mine unchanged`)
    const again = kubectl.withInput(cronTab('mine', `{cronSpec: '* * * * 6'}`))
    expect(await again.ok`apply -f -`).toBe(`crontab.${group}/mine configured`)
    const [row] = tableOf(await kubectl.ok`get ct`)
    expect(row).toMatchObject({ NAME: 'mine', SPEC: '* * * * 6', REPLICAS: '1' })
    expect(await kubectl.ok`get all`).toContain(`crontab.${group}/mine`)
    expect((await kubectl.json`get ct mine -o json`).spec).toEqual({
      cronSpec: '* * * * 6',
      replicas: 1,
    })
    await kubectl.ok`patch ct mine --type=merge -p ${'{"spec":{"image":"b"}}'}`
    await kubectl.ok`scale ct mine --replicas=3`
    await kubectl.ok`label ct mine tier=one`
    expect(await kubectl.ok`describe ct mine`).toContain('Replicas:   3')
    expect(await kubectl.ok`get ct -l tier=one -o name`).toBe(`crontab.${group}/mine`)
    await kubectl.ok`delete ct mine`
    expect((await kubectl.fails`get ct mine`).stderr).toContain(
      `crontabs.${group} "mine" not found`,
    )
  })

  test('kubectl applies from the server side, with conflicts and by force', async () => {
    const one = kubectl.withInput(cronTab('shared', `{cronSpec: '* * * * 5', image: a}`))
    expect(await one.ok`apply --server-side --field-manager=one -f -`).toBe(
      `crontab.${group}/shared serverside-applied`,
    )
    const two = kubectl.withInput(cronTab('shared', `{cronSpec: '* * * * 5', image: b}`))
    const { stderr } = await two.fails`apply --server-side --field-manager=two -f -`
    expect(stderr).toContain('conflict with "one": .spec.image')
    await two.ok`apply --server-side --field-manager=two --force-conflicts -f -`
    expect((await kubectl.json`get ct shared -o json`).spec.image).toBe('b')
  })

  test('kubectl shows what is wrong with an instance', async () => {
    const bad = kubectl.withInput(cronTab('bad', `{cronSpec: always, replicas: 11}`))
    const { stderr } = await bad.fails`apply -f -`
    expect(stderr).toContain(
      `spec.cronSpec: Invalid value: "always": spec.cronSpec in body should match '^(\\S+ ){4}\\S+$'`,
    )
    expect(stderr).toContain('spec.replicas in body should be less than or equal to 10')
    const unknown = kubectl.withInput(cronTab('bad', `{cronSpec: '* * * * 5', colour: red}`))
    expect((await unknown.fails`apply -f -`).stderr).toContain('unknown field "spec.colour"')
    expect(await unknown.ok`apply -f - --validate=false`).toContain('created')
  })

  test('client-node creates, patches and lists instances, and its informer follows them', async () => {
    const config = new KubeConfig()
    config.loadFromFile(cluster.kubeconfig)
    const api = config.makeApiClient(CustomObjectsApi)
    const at = { group, version: 'v1', namespace: 'customs', plural: 'crontabs' }
    type CronTab = KubernetesObject & { spec: { cronSpec: string; replicas?: number } }
    const seen: string[] = []
    const informer = makeInformer<CronTab>(
      config,
      `/apis/${group}/v1/namespaces/customs/crontabs`,
      async () => (await api.listNamespacedCustomObject(at)) as KubernetesListObject<CronTab>,
    )
    for (const event of ['add', 'update', 'delete'] as const) {
      informer.on(event, ({ metadata, spec }) => {
        if (metadata?.name === 'noded') seen.push(`${event} ${spec.replicas}`)
      })
    }
    await informer.start()
    const body = {
      apiVersion: `${group}/v1`,
      kind: 'CronTab',
      metadata: { name: 'noded' },
      spec: { cronSpec: '* * * * 5' },
    }
    const created = (await api.createNamespacedCustomObject({ ...at, body })) as CronTab
    expect(created.spec.replicas).toBe(1)
    await api.patchNamespacedCustomObject(
      { ...at, name: 'noded', body: { spec: { replicas: 4 } } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    )
    await api.deleteNamespacedCustomObject({ ...at, name: 'noded' })
    await eventually(() => expect(seen).toEqual(['add 1', 'update 4', 'delete 4']))
    await informer.stop()
    const definitions = config.makeApiClient(ApiextensionsV1Api)
    const { status } = await definitions.readCustomResourceDefinition({ name: `crontabs.${group}` })
    expect(status?.acceptedNames?.shortNames).toEqual(['ct'])
  })

  test('instances go with their owners and with their namespace', async () => {
    const others = await kubectlFor(cluster, { path, namespace: 'customs-gone' })
    await others.ok`create configmap owner`
    const { metadata } = await others.json`get configmap owner -o json`
    const owners = `ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: ${metadata.uid}}]`
    const owned = cronTab('owned', `{cronSpec: '* * * * 5'}`).replace(
      'name: owned}',
      `name: owned, ${owners}}`,
    )
    await others.withInput(owned).ok`apply -f -`
    await others.withInput(cronTab('free', `{cronSpec: '* * * * 5'}`)).ok`apply -f -`
    await others.ok`delete configmap owner`
    await eventually(async () => {
      expect(await others.ok`get ct -o name`).toBe(`crontab.${group}/free`)
    })
    await kubectl.ok`delete namespace customs-gone --timeout=60s`
    expect(await kubectl.ok`get ct -n customs-gone`).toBe('')
  })

  test('the definition goes with all instances', async () => {
    await kubectl.withInput(cronTab('last', `{cronSpec: '* * * * 5'}`)).ok`apply -f -`
    await kubectl.ok`delete crd crontabs.${group} --timeout=60s`
    // kubectl remembers the kind for a while.
    expect((await kubectl.fails`get ct`).stderr).toContain('could not find the requested resource')
  })
})
