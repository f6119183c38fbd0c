/** Every kubectl on this machine does a day's work on the cluster: each release has its own way to say the same things. */
import { basename } from 'node:path'
import { beforeAll, describe, expect } from 'vitest'
import { kubectlFor, oneKubectlPerRelease, requireKubectl, tableOf } from './kubectl.ts'
import type { PlacedCluster } from './place.ts'
import { sharedCluster } from './shared-cluster.ts'

const { test } = requireKubectl()
const kubectls = await oneKubectlPerRelease()

describe.runIf(kubectls.length > 0)('each kubectl', () => {
  let cluster: PlacedCluster

  beforeAll(async () => {
    cluster = await sharedCluster()
  })

  test.concurrent.each(kubectls.map((path) => [basename(path), path]))(
    '%s works',
    async (name, path) => {
      const namespace = name.replaceAll('.', '-')
      const kubectl = await kubectlFor(cluster, { path, namespace })
      const version = await kubectl.json`version -o json`
      expect(version.serverVersion).toMatchObject({ major: '1', minor: '32' })
      expect((await kubectl.ok`api-versions`).split('\n')).toContain('apps/v1')
      expect(await kubectl.ok`api-resources`).toMatch(/^deployments +deploy +apps\/v1 +true/m)
      expect(await kubectl.ok`explain pod.spec --recursive`).toMatch(
        /^ +containers\t<\[\](Container|Object)>/m,
      )
      expect(await kubectl.ok`cluster-info`).toContain('https://127.0.0.1:')

      expect(await kubectl.ok`create deployment web --image=nginx:1.26 --replicas=1`).toBe(
        'deployment.apps/web created',
      )
      expect(await kubectl.ok`run one --image=busybox --labels=app=one`).toBe('pod/one created')
      const manifest = (value: string) =>
        JSON.stringify({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'applied' },
          data: { value },
        })
      expect(await kubectl.withInput(manifest('1')).ok`apply -f -`).toBe(
        'configmap/applied created',
      )
      expect(await kubectl.withInput(manifest('2')).ok`apply -f -`).toBe(
        'configmap/applied configured',
      )
      const data = (value: string) => JSON.stringify({ data: { value } })
      await kubectl.ok`patch cm applied -p ${data('3')}`
      await kubectl.ok`patch cm applied --type=merge -p ${data('4')}`
      await kubectl.ok`patch cm applied --type=json -p ${'[{"op":"replace","path":"/data/value","value":"5"}]'}`
      await kubectl.ok`label cm applied color=blue`
      await kubectl.ok`annotate cm applied note=x`
      expect(await kubectl.ok`get cm -l color=blue -o jsonpath=${'{.items[*].data.value}'}`).toBe(
        '5',
      )

      await kubectl.ok`wait --for=condition=Ready pod/one --timeout=60s`
      expect(tableOf(await kubectl.ok`get pods one -o wide`)).toMatchObject([
        { NAME: 'one', READY: '1/1', STATUS: 'Running' },
      ])
      expect(await kubectl.ok`get pods,deployments,services -o yaml`).toContain('kind: Deployment')
      expect(await kubectl.ok`describe pod one`).toMatch(/^Status: +Running$/m)
      await kubectl.ok`expose deployment web --port=80`
      await kubectl.ok`scale deployment web --replicas=2`
      await kubectl.ok`set image deployment/web nginx=nginx:1.27`
      expect(await kubectl.ok`rollout status deployment/web --timeout=60s`).toContain(
        'successfully rolled out',
      )
      expect(await kubectl.ok`rollout history deployment/web`).toMatch(/^2 /m)
      await kubectl.ok`rollout undo deployment/web`
      expect(await kubectl.ok`describe deployment web`).toMatch(/^ +Image: +nginx:1\.26$/m)

      expect(await kubectl.ok`auth can-i create pods`).toBe('yes')
      expect(await kubectl.ok`create token default`).toMatch(/^ey/)
      expect(await kubectl.ok`events --for=pod/one`).toContain('Scheduled')
      await kubectl.ok`delete deployment web --cascade=foreground --timeout=60s`
      await kubectl.ok`delete pod one --now --timeout=60s`
      expect(await kubectl.ok`get all -o name`).toBe('service/web')
      await kubectl.ok`delete namespace ${namespace} --wait=false`
    },
  )
})
