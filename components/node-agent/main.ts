/** The node agent's process. */
import { runComponent } from '../component-base/component.ts'
import { runNodeAgent } from './node-agent.ts'
import { nodeAgentFlags } from './options.ts'

await runComponent({
  name: 'node-agent',
  description:
    'Joins a cluster as a node, or as many simulated ones, and runs the pods bound to it.',
  examples: [
    'node-agent --server https://127.0.0.1:6443 --bootstrap-token abcdef.0123456789abcdef ' +
      '--discovery-token-ca-cert-hash sha256:... --node-name n1 --root-dir ./n1',
  ],
  flags: nodeAgentFlags,
  run: (context) => runNodeAgent(context),
})
