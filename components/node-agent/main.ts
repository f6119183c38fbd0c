/** The node agent's process. */
import { runComponent } from '../component-base/component.ts'
import { runNodeAgent } from './node-agent.ts'
import { nodeAgent } from './options.ts'

void runComponent({
  ...nodeAgent,
  run: (context) => runNodeAgent(context),
})
