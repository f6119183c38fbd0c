import { describe, expect, it } from 'vitest'
import { createPki } from '../../../certs/pki.ts'
import { joinObjects } from '../../../cluster/plan/join-objects.ts'
import { parseKubeconfig } from '../../../components/client/kubeconfig.ts'
import { dialects } from '../../../components/api/dialect.ts'

describe.each([dialects.kubernetes, dialects.svc])('join objects ($name)', (dialect) => {
  const pki = createPki({ nowMs: Date.now(), apiServer: { serviceName: dialect.apiServerService } })
  const authorityPem = pki.authority.certificatePem
  const server = 'https://127.0.0.1:6443'
  const objects = joinObjects({ dialect, server, authorityPem })

  it('[BOOT-021] cluster-info holds the authority and the address of one cluster, and no credentials', async () => {
    const info = objects.find(({ object }) => object.metadata.name === 'cluster-info')?.object
    expect(info?.metadata.namespace).toBe(dialect.publicNamespace)
    const config = await parseKubeconfig(String(info?.['data'].kubeconfig))
    expect(config.clusters).toHaveLength(1)
    const [cluster] = config.clusters ?? []
    expect(cluster?.cluster?.server).toBe(server)
    const authority = cluster?.cluster?.['certificate-authority-data']
    expect(Buffer.from(String(authority), 'base64').toString()).toBe(authorityPem)
    expect(config.users ?? []).toEqual([])
    expect(JSON.stringify(info)).not.toContain('PRIVATE KEY')
  })

  it('anybody may read cluster-info and nothing else of its namespace', () => {
    const role = objects.find(({ resource }) => resource.plural === 'roles')?.object
    expect(role?.['rules']).toEqual([
      {
        apiGroups: [''],
        resources: ['configmaps'],
        resourceNames: ['cluster-info'],
        verbs: ['get'],
      },
    ])
    const binding = objects.find(({ resource }) => resource.plural === 'rolebindings')?.object
    expect(binding?.metadata.namespace).toBe(dialect.publicNamespace)
    const names = ((binding?.['subjects'] ?? []) as { name: string }[]).map(({ name }) => name)
    expect(names).toEqual(['system:anonymous'])
  })
})
