/** kubectl about the cluster as a whole: versions, discovery, documentation, access, certificates, tokens, events. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect } from 'vitest'
import { createCertificateRequest } from '../../certs/csr.ts'
import { generateKeyPair, privateKeyPem } from '../../certs/keys.ts'
import { kubectlFor, requireKubectl, tableOf } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import type { PlacedCluster } from './place.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()

describe('the cluster as a whole', () => {
  let cluster: PlacedCluster
  let kubectl: Kubectl

  beforeAll(async () => {
    cluster = await sharedCluster()
    kubectl = await kubectlFor(cluster, { path, namespace: 'general' })
  })

  test('version shows a server of release 1.32', async () => {
    expect(await kubectl.ok`version`).toMatch(/^Server Version: v1\.32\.\d+/m)
    const { serverVersion } = (await kubectl.json`version -o json`) as {
      serverVersion: Record<string, string>
    }
    expect(serverVersion).toMatchObject({ major: '1', minor: '32' })
  })

  test('api-versions lists what release 1.32 serves by default', async () => {
    // Other test files add groups of example.com.
    const versions = (await kubectl.ok`api-versions`).split('\n')
    expect(versions.filter((one) => !one.includes('example.com'))).toEqual([
      'admissionregistration.k8s.io/v1',
      'apiextensions.k8s.io/v1',
      'apiregistration.k8s.io/v1',
      'apps/v1',
      'authentication.k8s.io/v1',
      'authorization.k8s.io/v1',
      'autoscaling/v1',
      'autoscaling/v2',
      'batch/v1',
      'certificates.k8s.io/v1',
      'coordination.k8s.io/v1',
      'discovery.k8s.io/v1',
      'events.k8s.io/v1',
      'flowcontrol.apiserver.k8s.io/v1',
      'metrics.k8s.io/v1beta1',
      'networking.k8s.io/v1',
      'node.k8s.io/v1',
      'policy/v1',
      'rbac.authorization.k8s.io/v1',
      'scheduling.k8s.io/v1',
      'storage.k8s.io/v1',
      'v1',
    ])
  })

  test('api-resources shows short names, scope, verbs and categories', async () => {
    const rows = tableOf(await kubectl.ok`api-resources -o wide`)
    expect(rows.find((row) => row['NAME'] === 'deployments')).toEqual({
      NAME: 'deployments',
      SHORTNAMES: 'deploy',
      APIVERSION: 'apps/v1',
      NAMESPACED: 'true',
      KIND: 'Deployment',
      VERBS: 'create,delete,deletecollection,get,list,patch,update,watch',
      CATEGORIES: 'all',
    })
    expect(rows.find((row) => row['NAME'] === 'tokenreviews')).toMatchObject({
      NAMESPACED: 'false',
      VERBS: 'create',
    })
    const apps = await kubectl.ok`api-resources --api-group=apps -o name --namespaced=true`
    expect(apps.split('\n')).toEqual([
      'controllerrevisions.apps',
      'daemonsets.apps',
      'deployments.apps',
      'replicasets.apps',
      'statefulsets.apps',
    ])
  })

  test('explain documents fields, the whole tree, and one field', async () => {
    const tree = await kubectl.ok`explain pod.spec --recursive`
    expect(tree).toMatch(/^KIND: +Pod\nVERSION: +v1\n/)
    expect(tree).toContain('FIELD: spec <PodSpec>')
    expect(tree).toMatch(/^ {2}containers\t<\[\]Container> -required-$/m)
    expect(tree).toMatch(/^ {4}livenessProbe\t<Probe>$/m)
    expect(tree).toMatch(/^ {8}port\t<IntOrString> -required-$/m)
    expect(tree).toMatch(/^ {4}requests\t<map\[string\]Quantity>$|^ {6}requests\t/m)
    const field = await kubectl.ok`explain deployment.spec.replicas`
    expect(field).toMatch(/^GROUP: +apps\nKIND: +Deployment\nVERSION: +v1\n/)
    expect(field).toMatch(/FIELD: replicas <integer>/)
    expect(field).toMatch(/[Nn]umber of (desired )?pods/)
    const old = await kubectl.ok`explain hpa --api-version=autoscaling/v1`
    expect(old).toMatch(/VERSION: +v1\n/)
    expect((await kubectl.fails`explain pod.spec.nothing`).stderr).toContain('does not exist')
  })

  test('cluster-info says where the control plane is', async () => {
    const server =
      await kubectl.ok`config view --minify -o jsonpath=${'{.clusters[0].cluster.server}'}`
    // The escape codes of its colours come along.
    expect(await kubectl.ok`cluster-info`).toMatch(/Kubernetes control plane.* is running at /)
    expect(await kubectl.ok`cluster-info`).toContain(server)
    expect(await kubectl.ok`cluster-info dump --namespaces=general -o json`).toContain('NodeList')
    expect(await kubectl.ok`get --raw /readyz`).toBe('ok')
  })

  test('auth whoami and can-i tell who asks and what is allowed', async () => {
    const me = await kubectl.json`auth whoami -o json`
    expect(me.status.userInfo).toMatchObject({
      username: 'kubernetes-admin',
      groups: ['system:masters', 'system:authenticated'],
    })
    expect(await kubectl.ok`auth whoami`).toMatch(/^Username +kubernetes-admin$/m)
    expect(await kubectl.ok`auth can-i create pods`).toBe('yes')
    expect(await kubectl.ok`auth can-i ${'*'} ${'*'}`).toBe('yes')
    expect((await kubectl.fails`auth can-i create pods --as jane`).stdout).toBe('no\n')
    expect((await kubectl.fails`auth can-i get /metrics --as jane`).stdout).toBe('no\n')

    await kubectl.ok`create role reader --verb=get,list,watch --resource=pods,pods/log`
    await kubectl.ok`create rolebinding jane-reads --role=reader --user=jane`
    await expect
      .poll(async () => (await kubectl.try`auth can-i list pods --as jane`).stdout)
      .toBe('yes\n')
    expect((await kubectl.fails`auth can-i list pods --as jane -n default`).stdout).toBe('no\n')
    expect((await kubectl.fails`auth can-i get pods --subresource=exec --as jane`).stdout).toBe(
      'no\n',
    )
    const rules = tableOf(await kubectl.ok`auth can-i --list --as jane`)
    expect(rules).toContainEqual({
      Resources: 'pods/log',
      'Non-Resource URLs': '[]',
      'Resource Names': '[]',
      Verbs: '[get list watch]',
    })
    expect((await kubectl.fails`get secrets --as jane`).stderr).toBe(
      'Error from server (Forbidden): secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "general"\n',
    )
    expect(await kubectl.ok`get pods --as jane -o name`).toBe('')
  })

  test('auth reconcile makes and extends roles', async () => {
    const role = (verbs: string) =>
      JSON.stringify({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'reconciled', namespace: 'general' },
        rules: [{ apiGroups: [''], resources: ['pods'], verbs: [verbs] }],
      })
    expect(await kubectl.withInput(role('get')).ok`auth reconcile -f -`).toContain('reconciled')
    await kubectl.withInput(role('list')).ok`auth reconcile -f -`
    const { rules } = await kubectl.json`get role reconciled -o json`
    expect(rules).toHaveLength(2)
  })

  test('create token makes a token that its service account can use', async () => {
    await kubectl.ok`create serviceaccount robot`
    const token =
      await kubectl.ok`create token robot --duration=20m --audience=${'https://kubernetes.default.svc.cluster.local'}`
    const [, payload = ''] = token.split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as {
      sub: string
      exp: number
      iat: number
    }
    expect(claims.sub).toBe('system:serviceaccount:general:robot')
    expect(claims.exp - claims.iat).toBe(1200)

    await kubectl.ok`config set-credentials robot --token=${token}`
    await kubectl.ok`config set-context robot --cluster=${await clusterName(kubectl)} --user=robot --namespace=general`
    const who = await kubectl.json`--context=robot auth whoami -o json`
    expect(who.status.userInfo).toMatchObject({
      username: 'system:serviceaccount:general:robot',
      groups: ['system:serviceaccounts', 'system:serviceaccounts:general', 'system:authenticated'],
    })
    expect((await kubectl.fails`--context=robot get pods`).stderr).toContain(
      'pods is forbidden: User "system:serviceaccount:general:robot" cannot list',
    )
    await kubectl.ok`create rolebinding robot --clusterrole=view --serviceaccount=general:robot`
    await expect
      .poll(async () => (await kubectl.try`--context=robot get pods`).stderr)
      .toBe('No resources found in general namespace.\n')
    expect((await kubectl.fails`create token nobody`).stderr).toContain(
      'serviceaccounts "nobody" not found',
    )
  })

  test('certificate approve and deny: an approved request gets a certificate that works', async () => {
    const folder = mkdtempSync(join(cluster.home, 'csr-'))
    const keys = generateKeyPair()
    const subject = { commonName: 'ann', organizations: ['friends'] }
    const request = createCertificateRequest(keys, { subject })
    const object = (name: string) =>
      JSON.stringify({
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name },
        spec: {
          request: Buffer.from(request).toString('base64'),
          signerName: 'kubernetes.io/kube-apiserver-client',
          expirationSeconds: 3600,
          usages: ['client auth'],
        },
      })
    await kubectl.withInput(object('ann')).ok`create -f -`
    await kubectl.withInput(object('ann-denied')).ok`create -f -`
    expect(tableOf(await kubectl.ok`get csr ann`)).toMatchObject([
      {
        NAME: 'ann',
        SIGNERNAME: 'kubernetes.io/kube-apiserver-client',
        REQUESTOR: 'kubernetes-admin',
        REQUESTEDDURATION: '60m',
        CONDITION: 'Pending',
      },
    ])
    expect(await kubectl.ok`certificate approve ann`).toBe(
      'certificatesigningrequest.certificates.k8s.io/ann approved',
    )
    expect(await kubectl.ok`certificate deny ann-denied`).toBe(
      'certificatesigningrequest.certificates.k8s.io/ann-denied denied',
    )
    const field = '{.status.certificate}'
    await kubectl.ok`wait --for=jsonpath=${field} csr/ann --timeout=60s`
    expect(tableOf(await kubectl.ok`get csr ann ann-denied`)).toMatchObject([
      { CONDITION: 'Approved,Issued' },
      { CONDITION: 'Denied' },
    ])
    const certificate = await kubectl.ok`get csr ann -o jsonpath=${field}`
    const files = { certificate: join(folder, 'ann.crt'), key: join(folder, 'ann.key') }
    writeFileSync(files.certificate, Buffer.from(certificate, 'base64'))
    writeFileSync(files.key, privateKeyPem(keys.privateKey))
    await kubectl.ok`config set-credentials ann --client-certificate=${files.certificate} --client-key=${files.key}`
    await kubectl.ok`config set-context ann --cluster=${await clusterName(kubectl)} --user=ann`
    const who = await kubectl.json`--context=ann auth whoami -o json`
    expect(who.status.userInfo).toMatchObject({
      username: 'ann',
      groups: ['friends', 'system:authenticated'],
    })
    rmSync(folder, { recursive: true })
  })

  test('events and get events show what happened to an object, oldest first', async () => {
    await kubectl.ok`run eventful --image=example.com/eventful:1`
    await kubectl.ok`wait --for=condition=Ready pod/eventful --timeout=60s`
    const reasons = async () =>
      tableOf(await kubectl.ok`events --for=pod/eventful`).map((row) => row['REASON'])
    // Two processes report, in whole seconds: how the first two come to stand is open.
    await expect
      .poll(async () => (await reasons()).toSorted())
      .toEqual(['Created', 'Pulled', 'Pulling', 'Scheduled', 'Started'])
    expect((await reasons()).filter((reason) => reason !== 'Scheduled')).toEqual([
      'Pulling',
      'Pulled',
      'Created',
      'Started',
    ])
    expect(tableOf(await kubectl.ok`events --types=Normal`)[0]).toMatchObject({
      TYPE: 'Normal',
      OBJECT: 'Pod/eventful',
    })
    const selector = '--field-selector=involvedObject.name=eventful,reason=Started'
    expect(tableOf(await kubectl.ok`get events ${selector}`)).toMatchObject([
      { TYPE: 'Normal', REASON: 'Started', OBJECT: 'pod/eventful' },
    ])
    expect((await kubectl.try`events -n kube-public`).stderr).toBe(
      'No events found in kube-public namespace.\n',
    )
  })
})

async function clusterName(kubectl: Kubectl): Promise<string> {
  return await kubectl.ok`config view --minify -o jsonpath=${'{.clusters[0].name}'}`
}
