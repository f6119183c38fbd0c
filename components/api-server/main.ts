/** The API server's process. */
import { runComponent } from '../component-base/component.ts'
import { runApiServer } from './start/api-server.ts'
import { apiServerFlags } from './configuration/options.ts'

await runComponent({
  name: 'api-server',
  description:
    'Serves the API over HTTPS and keeps its state in a store. Its health is at /livez and /readyz, its metrics at /metrics;\n' +
    '/healthz is deprecated since 1.16 and still served.',
  examples: [
    'api-server --store=sqlite:state.db --tls-cert-file=apiserver.crt --tls-private-key-file=apiserver.key --client-ca-file=ca.crt',
  ],
  flags: apiServerFlags,
  run: runApiServer,
})
