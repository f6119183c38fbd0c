/** kubectl about who may do what: can-i in all its forms, whoami, reconcile, roles and bindings, acting as somebody else. */
import { beforeAll, describe, expect } from 'vitest'
import { createCertificateRequest } from '../../certs/csr.ts'
import { generateKeyPair } from '../../certs/keys.ts'
import { kubectlFor, requireKubectl, tableOf } from './kubectl.ts'
import type { CommandLine, Kubectl } from './kubectl.ts'
import type { PlacedCluster } from './place.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path, test } = requireKubectl()

describe('who may do what', () => {
  let cluster: PlacedCluster
  let kubectl: Kubectl
  beforeAll(async () => {
    cluster = await sharedCluster()
    kubectl = await kubectlFor(cluster, { path, namespace: 'rights' })
  })
  /** What can-i says and how it ends, which must fit. */
  const canI = async (...line: CommandLine): Promise<string> => {
    const { code, stdout } = await kubectl.try(...line)
    // A refusal may go on to say why.
    const [said = ''] = stdout.trim().split(' ')
    expect([said, code]).toEqual([said, said === 'yes' ? 0 : 1])
    return said
  }
  const becomes = async (said: string, ...line: CommandLine): Promise<void> => {
    await expect.poll(async () => await canI(...line)).toBe(said)
  }

  test('create role and clusterrole write the rules that are asked for', async () => {
    await kubectl.ok`create role by-name --verb=get,update --resource=configmaps --resource-name=one --resource-name=two`
    expect((await kubectl.json`get role by-name -o json`).rules).toEqual([
      {
        apiGroups: [''],
        resources: ['configmaps'],
        resourceNames: ['one', 'two'],
        verbs: ['get', 'update'],
      },
    ])
    await kubectl.ok`create role grouped --verb=list --resource=deployments.apps,deployments.apps/scale,pods/log`
    const { rules } = await kubectl.json`get role grouped -o json`
    expect(rules).toHaveLength(2)
    expect(rules).toEqual(
      expect.arrayContaining([
        { apiGroups: ['apps'], resources: ['deployments', 'deployments/scale'], verbs: ['list'] },
        { apiGroups: [''], resources: ['pods/log'], verbs: ['list'] },
      ]),
    )
    await kubectl.ok`create clusterrole rights-paths --verb=get --non-resource-url=/rights/*`
    expect((await kubectl.json`get clusterrole rights-paths -o json`).rules).toEqual([
      { nonResourceURLs: ['/rights/*'], verbs: ['get'] },
    ])
    await kubectl.ok`create clusterrole rights-nodes --verb=get,list,watch --resource=nodes`
    const aggregate = 'rights.example.com/aggregate=yes'
    await kubectl.ok`create clusterrole rights-all --aggregation-rule=${aggregate}`
    await kubectl.ok`label clusterrole rights-nodes ${aggregate}`
    await expect
      .poll(async () => (await kubectl.json`get clusterrole rights-all -o json`).rules)
      .toEqual([{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] }])
    expect((await kubectl.fails`create role wrong --verb=get --resource=gadgets`).stderr).toContain(
      `the server doesn't have a resource type "gadgets"`,
    )
  })

  test('create rolebinding and clusterrolebinding name users, groups and accounts', async () => {
    await kubectl.ok`create serviceaccount bound`
    await kubectl.ok`create rolebinding every --clusterrole=view --user=ann --user=bob --group=crew --serviceaccount=rights:bound`
    const binding = await kubectl.json`get rolebinding every -o json`
    expect(binding.roleRef).toEqual({
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'ClusterRole',
      name: 'view',
    })
    expect(binding.subjects).toEqual([
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ann' },
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'bob' },
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'crew' },
      { kind: 'ServiceAccount', name: 'bound', namespace: 'rights' },
    ])
    for (const who of ['ann', 'bob', 'system:serviceaccount:rights:bound']) {
      await becomes('yes', ...line`auth can-i list pods --as=${who}`)
    }
    await becomes('yes', ...line`auth can-i list pods --as=nobody --as-group=crew`)
    expect(await canI`auth can-i list pods --as=nobody`).toBe('no')
    expect(await canI`auth can-i list pods --as=ann -n default`).toBe('no')
    await kubectl.ok`create clusterrolebinding rights-nodes --clusterrole=rights-nodes --user=ann`
    await becomes('yes', ...line`auth can-i get nodes --as=ann`)
  })

  test('can-i asks about resources, names, groups, sub-resources, paths and all namespaces', async () => {
    await kubectl.ok`create role asked --verb=get --resource=configmaps --resource-name=mine`
    await kubectl.ok`create rolebinding asked --role=asked --user=asker`
    await becomes('yes', ...line`auth can-i get configmaps/mine --as=asker`)
    expect(await canI`auth can-i get configmap/mine --as=asker`).toBe('yes')
    expect(await canI`auth can-i get cm/yours --as=asker`).toBe('no')
    expect(await canI`auth can-i get configmaps --as=asker`).toBe('no')
    await kubectl.ok`create role sub --verb=get --resource=pods/log --verb=list`
    await kubectl.ok`create rolebinding sub --role=sub --user=subber`
    await becomes('yes', ...line`auth can-i get pods --subresource=log --as=subber`)
    expect(await canI`auth can-i get pods/log --as=subber`).toBe('no')
    expect(await canI`auth can-i get pods --as=subber`).toBe('no')
    await kubectl.ok`create role apps --verb=list --resource=deployments.apps,jobs.batch`
    await kubectl.ok`create rolebinding apps --role=apps --user=apper`
    await becomes('yes', ...line`auth can-i list deployments.apps --as=apper`)
    expect(await canI`auth can-i list jobs.batch/one --as=apper`).toBe('yes')
    expect(await canI`auth can-i list deploy -A --as=apper`).toBe('no')
    await kubectl.ok`create clusterrolebinding rights-paths --clusterrole=rights-paths --user=walker`
    await becomes('yes', ...line`auth can-i get /rights/of/way --as=walker`)
    expect(await canI`auth can-i get /rightsofway --as=walker`).toBe('no')
    expect(await canI`auth can-i post /rights/of/way --as=walker`).toBe('no')
    expect(await canI`auth can-i create pods --all-namespaces`).toBe('yes')
    expect(await canI`auth can-i approve certificates.k8s.io`).toBe('yes')
    const quiet = await kubectl.try`auth can-i -q list secrets --as=nobody`
    expect([quiet.code, quiet.stdout]).toEqual([1, ''])
    expect((await kubectl.try`auth can-i -q list secrets`).code).toBe(0)
    const unscoped = await kubectl.try`auth can-i get nodes`
    expect(unscoped.stderr).toContain("Warning: resource 'nodes' is not namespace scoped")
    const unknown = await kubectl.try`auth can-i get gadgets`
    expect(unknown.stderr).toContain("Warning: the server doesn't have a resource type 'gadgets'")
  })

  test('can-i --list shows the rules that hold, with names and paths', async () => {
    await kubectl.ok`create role listed --verb=get --resource=secrets --resource-name=one`
    await kubectl.ok`create rolebinding listed --role=listed --user=lister`
    await kubectl.ok`create clusterrolebinding rights-listed --clusterrole=rights-paths --user=lister`
    await becomes('yes', ...line`auth can-i get /rights/x --as=lister`)
    await becomes('yes', ...line`auth can-i get secrets/one --as=lister`)
    const rows = tableOf(await kubectl.ok`auth can-i --list --as=lister`)
    expect(rows).toContainEqual({
      Resources: 'secrets',
      'Non-Resource URLs': '[]',
      'Resource Names': '[one]',
      Verbs: '[get]',
    })
    expect(rows).toContainEqual({
      Resources: '',
      'Non-Resource URLs': '[/rights/*]',
      'Resource Names': '[]',
      Verbs: '[get]',
    })
    expect(rows.map((row) => row['Resources'])).toContain(
      'selfsubjectaccessreviews.authorization.k8s.io',
    )
    const bare = await kubectl.ok`auth can-i --list --no-headers --as=lister -n default`
    expect(bare).not.toContain('Resources')
    expect(bare).not.toContain('secrets')
    expect(tableOf(await kubectl.ok`auth can-i --list`)).toContainEqual({
      Resources: '*.*',
      'Non-Resource URLs': '[]',
      'Resource Names': '[]',
      Verbs: '[*]',
    })
  })

  test('--as, --as-group and --as-uid act as somebody else, as far as that is allowed', async () => {
    const { status } =
      await kubectl.json`auth whoami -o json --as=ann --as-group=crew --as-group=${'CN=devs, OU=people'} --as-uid=u-1`
    expect(status.userInfo).toEqual({
      username: 'ann',
      uid: 'u-1',
      groups: ['crew', 'CN=devs, OU=people', 'system:authenticated'],
    })
    expect(tableOf(await kubectl.ok`auth whoami --as=ann --as-group=crew --as-uid=u-1`)).toEqual([
      { ATTRIBUTE: 'Username', VALUE: 'ann' },
      { ATTRIBUTE: 'UID', VALUE: 'u-1' },
      { ATTRIBUTE: 'Groups', VALUE: '[crew system:authenticated]' },
    ])
    expect((await kubectl.fails`get pods --as-group=crew`).stderr).toContain(
      'without impersonating a user',
    )

    await kubectl.ok`create serviceaccount actor`
    await kubectl.ok`create clusterrole rights-actor --verb=impersonate --resource=users --resource-name=ann`
    await kubectl.ok`create clusterrolebinding rights-actor --clusterrole=rights-actor --serviceaccount=rights:actor`
    const token = await kubectl.ok`create token actor`
    const cluster_ = await kubectl.ok`config view --minify -o jsonpath=${'{.clusters[0].name}'}`
    await kubectl.ok`config set-credentials actor --token=${token}`
    await kubectl.ok`config set-context actor --cluster=${cluster_} --user=actor --namespace=rights`
    await expect
      .poll(async () => (await kubectl.try`--context=actor get pods --as=ann`).code)
      .toBe(0)
    expect((await kubectl.fails`--context=actor get pods`).stderr).toContain(
      'User "system:serviceaccount:rights:actor" cannot list resource "pods"',
    )
    const refusals = {
      'users "bob"': line`--context=actor get pods --as=bob`,
      'groups "crew"': line`--context=actor get pods --as=ann --as-group=crew`,
      'uids.authentication.k8s.io "u-1"': line`--context=actor get pods --as=ann --as-uid=u-1`,
    }
    for (const [what, words] of Object.entries(refusals)) {
      const { stderr } = await kubectl.fails(...words)
      expect(stderr).toContain(
        `${what} is forbidden: User "system:serviceaccount:rights:actor" cannot impersonate`,
      )
    }
  })

  test('auth reconcile makes, extends and, when asked, cuts back roles and bindings', async () => {
    const group = 'rbac.authorization.k8s.io'
    const role = (...verbs: string[]) => ({
      apiVersion: `${group}/v1`,
      kind: 'Role',
      metadata: { name: 'kept', namespace: 'rights' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs }],
    })
    const binding = (name: string, ...users: string[]) => ({
      apiVersion: `${group}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'kept', namespace: 'rights' },
      roleRef: { apiGroup: group, kind: 'Role', name },
      subjects: users.map((one) => ({ apiGroup: group, kind: 'User', name: one })),
    })
    const list = (...items: unknown[]) =>
      kubectl.withInput(JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    const users = async (): Promise<string[]> => {
      const { subjects } = await kubectl.json`get rolebinding kept -o json`
      return (subjects as { name: string }[]).map(({ name }) => name).toSorted()
    }
    const verbs = async (): Promise<string[]> => {
      const { rules } = await kubectl.json`get role kept -o json`
      return (rules as { verbs: string[] }[]).flatMap((one) => one.verbs).toSorted()
    }
    expect(
      await list(role('get'), binding('kept', 'ann')).ok`auth reconcile -f - --dry-run=client`,
    ).toContain('role.rbac.authorization.k8s.io/kept reconciled (dry run)')
    expect((await kubectl.fails`get role kept`).stderr).toContain('not found')
    expect(await list(role('get'), binding('kept', 'ann')).ok`auth reconcile -f -`).toContain(
      'rolebinding.rbac.authorization.k8s.io/kept reconciled',
    )
    await list(role('list'), binding('kept', 'bob')).ok`auth reconcile -f -`
    expect([await verbs(), await users()]).toEqual([
      ['get', 'list'],
      ['ann', 'bob'],
    ])
    await list(role('list'), binding('kept', 'bob'))
      .ok`auth reconcile -f - --remove-extra-permissions --remove-extra-subjects`
    expect([await verbs(), await users()]).toEqual([['list'], ['bob']])
    await kubectl.ok`create role other --verb=get --resource=pods`
    const before = await kubectl.json`get rolebinding kept -o json`
    await list(binding('other', 'bob')).ok`auth reconcile -f -`
    const after = await kubectl.json`get rolebinding kept -o json`
    expect([after.roleRef.name, after.metadata.uid === before.metadata.uid]).toEqual([
      'other',
      false,
    ])
    const changed = await kubectl.withInput(JSON.stringify(binding('kept', 'bob')))
      .fails`replace -f -`
    expect(changed.stderr).toContain('cannot change roleRef')
  })

  test('nobody gives by kubectl what he does not have', async () => {
    await kubectl.ok`create role giver --verb=create,get --resource=roles,rolebindings`
    await kubectl.ok`create rolebinding giver --role=giver --user=giver`
    await kubectl.ok`create rolebinding giver-views --clusterrole=view --user=giver`
    await becomes('yes', ...line`auth can-i create roles --as=giver`)
    await becomes('yes', ...line`auth can-i list pods --as=giver`)
    await kubectl.ok`create role given --verb=get,list --resource=pods --as=giver`
    await kubectl.ok`create rolebinding given --clusterrole=view --user=friend --as=giver`
    await becomes('yes', ...line`auth can-i list pods --as=friend`)
    const { stderr } =
      await kubectl.fails`create role stolen --verb=get --resource=secrets --as=giver`
    expect(stderr).toContain('is attempting to grant RBAC permissions not currently held')
    expect(stderr).toContain('{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}')
    const bound =
      await kubectl.fails`create rolebinding stolen --clusterrole=edit --user=giver --as=giver`
    expect(bound.stderr).toContain('permissions not currently held')
  })

  test('create token bounds what it makes in time, audience and object', async () => {
    await kubectl.ok`create serviceaccount tokens`
    const claimsOf = (token: string): Record<string, unknown> =>
      JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<
        string,
        unknown
      >
    const plain = claimsOf(await kubectl.ok`create token tokens`)
    expect(plain['sub']).toBe('system:serviceaccount:rights:tokens')
    const other = await kubectl.ok`create token tokens --audience=a --audience=b --duration=15m`
    expect(claimsOf(other)['aud']).toEqual(['a', 'b'])
    await kubectl.ok`create secret generic holder`
    const bound = claimsOf(
      await kubectl.ok`create token tokens --bound-object-kind=Secret --bound-object-name=holder`,
    )
    expect(bound['kubernetes.io']).toMatchObject({
      namespace: 'rights',
      secret: { name: 'holder' },
      serviceaccount: { name: 'tokens' },
    })
    const review = await kubectl.json`create token tokens -o json`
    expect(review).toMatchObject({
      kind: 'TokenRequest',
      status: { token: expect.any(String) as string },
    })
    expect((await kubectl.fails`create token tokens --duration=1m`).stderr).toContain(
      'may not specify a duration less than 10 minutes',
    )
  })

  test('certificate approve and deny decide once, for who may', async () => {
    const request = createCertificateRequest(generateKeyPair(), {
      subject: { commonName: 'rights', organizations: [] },
    })
    const make = async (name: string): Promise<void> => {
      const object = {
        apiVersion: 'certificates.k8s.io/v1',
        kind: 'CertificateSigningRequest',
        metadata: { name },
        spec: {
          request: Buffer.from(request).toString('base64'),
          signerName: 'kubernetes.io/kube-apiserver-client',
          usages: ['client auth'],
        },
      }
      await kubectl.withInput(JSON.stringify(object)).ok`create -f -`
    }
    await make('rights-yes')
    await make('rights-no')
    expect((await kubectl.fails`certificate approve rights-yes --as=ann`).stderr).toContain(
      'cannot get resource "certificatesigningrequests"',
    )
    await kubectl.ok`certificate approve rights-yes`
    await kubectl.ok`certificate deny rights-no`
    expect((await kubectl.fails`certificate deny rights-yes`).stderr).toContain('Approved')
    const { status } = await kubectl.json`get csr rights-no -o json`
    expect(status.conditions).toMatchObject([{ type: 'Denied', status: 'True' }])
    expect(status.certificate).toBeUndefined()
  })
})

/** A command line to hand on. */
function line(...words: CommandLine): CommandLine {
  return words
}
