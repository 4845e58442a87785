"""One module for each agent framework. Importing one needs that framework; importing placet does not."""
