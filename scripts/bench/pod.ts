/** A Pod of 3.7 KB as it is stored: the unit in which the bench moves bytes. */
import type { Request } from './load.ts'

export const podsPath = '/api/v1/namespaces/default/pods'

/** Creates of pods whose names count up. */
export function podCreates(prefix = 'pod'): () => Request {
  let count = 0
  return () => {
    const body = Buffer.from(JSON.stringify(podManifest(`${prefix}-${(count += 1)}`)))
    return { method: 'POST', path: podsPath, body }
  }
}

function container(index: number) {
  return {
    name: `container-${index}`,
    image: `registry.example/team/application-${index}:1.2.${index}`,
    args: ['--port=8080', '--metrics=:9090', `--instance=${index}`, '--log-format=json'],
    ports: [{ name: `http-${index}`, containerPort: 8080 + index, protocol: 'TCP' }],
    env: Array.from({ length: 6 }, (_, at) => ({
      name: `SETTING_${index}_${at}`,
      value: `value-of-setting-${at}-which-has-some-length`,
    })),
    resources: {
      limits: { cpu: '500m', memory: '256Mi' },
      requests: { cpu: '100m', memory: '64Mi' },
    },
    volumeMounts: [{ name: 'config', mountPath: '/etc/config', readOnly: true }],
    livenessProbe: { httpGet: { path: '/healthz', port: 8080 + index }, periodSeconds: 10 },
    readinessProbe: { httpGet: { path: '/readyz', port: 8080 + index }, periodSeconds: 5 },
  }
}

/** The manifest that a create sends. */
export function podManifest(name: string): unknown {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      labels: { app: 'bench', tier: 'backend', 'app.kubernetes.io/part-of': 'bench' },
      annotations: { 'example.com/checksum': 'a'.repeat(64), 'example.com/owner': 'team-bench' },
    },
    spec: {
      automountServiceAccountToken: false,
      containers: [container(0), container(1)],
      volumes: [{ name: 'config', configMap: { name: 'settings' } }],
      nodeSelector: { 'kubernetes.io/os': 'linux', 'example.com/pool': 'none' },
    },
  }
}
